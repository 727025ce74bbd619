"""The only names that a model file may mention: Keras' own layers and arithmetic."""

_LAYERS = """
    InputLayer Dense EinsumDense Embedding Activation Identity Masking
    ReLU LeakyReLU PReLU ELU Softmax
    Add Subtract Multiply Average Maximum Minimum Concatenate Dot
    Flatten Reshape Permute RepeatVector
    Cropping1D ZeroPadding1D UpSampling1D Cropping2D ZeroPadding2D UpSampling2D
    Dropout AlphaDropout GaussianDropout GaussianNoise SpatialDropout1D SpatialDropout2D
    ActivityRegularization
    BatchNormalization LayerNormalization GroupNormalization UnitNormalization RMSNormalization
    SpectralNormalization
    Normalization Rescaling Discretization CategoryEncoding Hashing HashedCrossing
    StringLookup IntegerLookup
    Attention AdditiveAttention MultiHeadAttention GroupQueryAttention
    Conv1D Conv2D DepthwiseConv1D DepthwiseConv2D SeparableConv1D SeparableConv2D
    Conv1DTranspose Conv2DTranspose
    AveragePooling1D AveragePooling2D MaxPooling1D MaxPooling2D
    GlobalAveragePooling1D GlobalAveragePooling2D GlobalMaxPooling1D GlobalMaxPooling2D
    LSTM GRU SimpleRNN RNN LSTMCell GRUCell SimpleRNNCell StackedRNNCells
    Bidirectional TimeDistributed
"""

_OPERATIONS = """
    Abs Absolute Add All Amax Amin Any Arccos Arcsin Arcsinh Arctan Arctan2 Argmax Argmin Average
    BroadcastTo Cast Ceil Celu Clip Concatenate Copy Cos Cosh Cumprod Cumsum Digitize Divide
    DivideNoNan Dot Einsum Elu Equal Erf Erfc Exp Exp2 ExpandDims Expm1 Flip Floor FloorDivide
    FullLike Gelu Glu Greater GreaterEqual HardShrink HardSigmoid HardSilu HardTanh Inner Isfinite
    Isinf Isnan LayerNorm LeakyRelu Less LessEqual Log Log10 Log1p Log2 LogSigmoid LogSoftmax
    Logaddexp LogicalAnd LogicalNot LogicalOr LogicalXor Logsumexp Matmul Max Maximum Mean Median
    Min Minimum Mod Moveaxis MultiHot Multiply NanToNum Negative Normalize NotEqual OneHot OnesLike
    Outer Power Prod RMSNorm Ravel Reciprocal Relu Relu6 Repeat Reshape Roll Round Rsqrt
    SaturateCast SearchSorted Selu Sigmoid Sign Silu Sin Sinh Slice SoftShrink Softmax Softplus
    Softsign Sort SparsePlus SparseSigmoid Sparsemax Split Sqrt Square Squareplus Squeeze Stack Std
    StopGradient Subtract Sum Swapaxes Take TakeAlongAxis Tan Tanh TanhShrink Tensordot Threshold
    Tile TopK Transpose Tril Triu TrueDivide Trunc Unstack Var Where ZerosLike GetItem
"""

_SMALL_PARTS = """
    Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity IdentityInitializer
    LecunNormal LecunUniform Ones Orthogonal OrthogonalInitializer RandomNormal RandomUniform
    TruncatedNormal VarianceScaling Zeros
    L1 L2 L1L2 OrthogonalRegularizer MaxNorm MinMaxNorm NonNeg UnitNorm
    DTypePolicy FloatDTypePolicy Policy SeedGenerator
"""

# A nested model may have been compiled on its own; these never run when rows are scored.
_TRAINING_PARTS = """
    Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Lamb Lion LossScaleOptimizer Nadam RMSprop SGD
    BinaryCrossentropy BinaryFocalCrossentropy CategoricalCrossentropy Hinge Huber LogCosh
    MeanAbsoluteError MeanSquaredError SparseCategoricalCrossentropy SquaredHinge
    AUC Accuracy BinaryAccuracy CategoricalAccuracy F1Score Mean MeanMetricWrapper Precision Recall
"""

_PLAIN_VALUES = "__keras_tensor__ __tensor__ __numpy__ __bytes__ __ellipsis__ __slice__"

_ACTIVATIONS = """
    celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh
    leaky_relu linear log_sigmoid log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax
    softplus softsign sparse_plus sparse_sigmoid sparsemax squareplus swish tanh tanh_shrink
    threshold
"""

ACTIVATIONS = frozenset(_ACTIVATIONS.split())
PLAIN_VALUES = frozenset(_PLAIN_VALUES.split())
MODELS = frozenset({"Functional", "Sequential", "Model"})

PARTS = frozenset((*_LAYERS.split(), *_OPERATIONS.split(), *MODELS))
"""Layers, operations and models: what Keras builds a model of."""

_SMALL_PART_MODULES = """
    keras keras.initializers keras.src.initializers. keras.regularizers keras.src.regularizers.
    keras.constraints keras.src.constraints. keras.dtype_policies keras.src.dtype_policies.
    keras.mixed_precision keras.random
"""

# (modules, class names); a module that ends in "." includes those below it. A file in the
# older format gives no module.
_NAMESPACES = tuple(
    (modules.split(), frozenset(names.split()))
    for modules, names in (
        ("keras.layers keras.src.layers.", _LAYERS),
        ("keras.ops keras.src.ops.", _OPERATIONS),
        ("keras keras.models keras.src.models. keras.src.engine.", " ".join(MODELS)),
        (_SMALL_PART_MODULES, _SMALL_PARTS),
        ("keras.optimizers keras.losses keras.metrics keras.src.optimizers.", _TRAINING_PARTS),
    )
)


def is_allowed(module: object, class_name: str) -> bool:
    """Return whether a file may mention a class of a module.

    >>> is_allowed("keras.layers", "Dense"), is_allowed("keras.layers", "Lambda")
    (True, False)
    >>> is_allowed("os", "Dense"), is_allowed(None, "Dense")
    (False, True)
    """
    return any(
        class_name in names
        and (module is None or any(_is_inside(module, each) for each in modules))
        for modules, names in _NAMESPACES
    )


def _is_inside(module: object, allowed: str) -> bool:
    below = isinstance(module, str) and allowed.endswith(".") and module.startswith(allowed)
    return module == allowed or below
