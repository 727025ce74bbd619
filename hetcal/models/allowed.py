"""The only names that a model file may mention: Keras' own layers and arithmetic."""

_LAYERS = """
    InputLayer Dense EinsumDense Embedding Activation Identity Masking
    ReLU LeakyReLU PReLU ELU Softmax
    Add Subtract Multiply Average Maximum Minimum Concatenate Dot
    Flatten Reshape Permute RepeatVector
    Cropping1D ZeroPadding1D UpSampling1D Cropping2D ZeroPadding2D UpSampling2D
    Cropping3D ZeroPadding3D UpSampling3D
    Dropout AlphaDropout GaussianDropout GaussianNoise SpatialDropout1D SpatialDropout2D
    SpatialDropout3D ActivityRegularization
    BatchNormalization LayerNormalization GroupNormalization UnitNormalization RMSNormalization
    SpectralNormalization
    Normalization Rescaling Discretization CategoryEncoding Hashing HashedCrossing
    StringLookup IntegerLookup TextVectorization TFDConcat TFDIdentity ReversibleEmbedding
    Attention AdditiveAttention MultiHeadAttention GroupQueryAttention GroupedQueryAttention
    Conv1D Conv2D DepthwiseConv1D DepthwiseConv2D SeparableConv1D SeparableConv2D
    Conv1DTranspose Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D
    AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D MaxPooling2D MaxPooling3D
    GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D
    GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D
    AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D
    AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D
    LSTM GRU SimpleRNN RNN LSTMCell GRUCell SimpleRNNCell StackedRNNCells
    Bidirectional TimeDistributed
    Resizing CenterCrop Pipeline AugMix AutoContrast ContrastLimitedAdaptiveHistogramEqualization
    CutMix Equalization MixUp RandAugment RandomBrightness RandomColorDegeneration
    RandomColorJitter RandomContrast RandomCrop RandomElasticTransform RandomErasing RandomFlip
    RandomGaussianBlur RandomGrayscale RandomHue RandomInvert RandomPerspective
    RandomPosterization RandomRotation RandomSaturation RandomSharpness RandomShear
    RandomTranslation RandomZoom Solarization MelSpectrogram STFTSpectrogram
"""

_OF_APPLICATIONS = "LayerScale CustomScaleLayer"  # of ConvNeXt and Inception-ResNet

_OPERATIONS = """
    Abs Absolute AdaptiveAveragePool AdaptiveMaxPool Add AffineTransform All AllClose Amax Amin
    Angle Any Append Arange Arccos Arccosh Arcsin Arcsinh Arctan Arctan2 Arctanh Argmax Argmin
    Argpartition Argsort Array ArraySplit Average AveragePool BatchNorm BinaryCrossentropy
    Bincount BitwiseAnd BitwiseInvert BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift
    BitwiseXor BroadcastTo CDist CTCDecode CTCLoss Cast CategoricalCrossentropy Cbrt Ceil Celu
    Cholesky CholeskyInverse Clip Concatenate Conj Conjugate Conv ConvTranspose ConvertToTensor
    Copy Corrcoef Correlate Cos Cosh CountNonzero CropImages Cross Cumprod Cumsum Deg2rad
    DepthToSpace DepthwiseConv Det Diag Diagflat Diagonal Diff Digitize Divide DivideNoNan Dot
    DotProductAttention Dsplit Dstack Eig Eigh Einsum ElasticTransform Elu EmptyLike Equal Erf
    Erfc Erfinv Exp Exp2 ExpandDims Expm1 ExtractPatches ExtractSequences FFT FFT2 Fabs Flip
    Fliplr Flipud Floor FloorDivide Fmax Fmin Fmod Fold Full FullLike GaussianBlur Gcd Gelu
    Geomspace GetItem Glu Greater GreaterEqual HSVToRGB HardShrink HardSigmoid HardSilu HardTanh
    Heaviside Histogram Hsplit Hstack Hypot I0 IFFT2 IRFFT ISTFT Imag InTopK Inner Inv IsIn
    Isclose Isfinite Isinf Isnan Isneginf Isposinf Isreal Kron LayerNorm Lcm Ldexp LeakyRelu
    LeftShift Less LessEqual Linspace Log Log10 Log1p Log2 LogSigmoid LogSoftmax Logaddexp
    Logaddexp2 Logdet LogicalAnd LogicalNot LogicalOr LogicalXor Logspace Logsumexp Lstsq LuFactor
    MapCoordinates Matmul MatrixRank Max MaxPool Maximum Mean Median Meshgrid Min Minimum Mod
    Moments Moveaxis MultiHot Multiply NanToNum Nanargmax Nanargmin Nancumprod Nancumsum Nanmax
    Nanmean Nanmedian Nanmin Nanpercentile Nanprod Nanquantile Nanstd Nansum Nanvar Ndim Negative
    Nextafter Nonzero Norm Normalize NotEqual OneHot OnesLike Outer PSNR Pad PadImages Percentile
    PerspectiveTransform Pinv Polar Power Prod Ptp Qr Quantile RFFT RGBToGrayscale RGBToHSV
    RMSNorm Rad2deg Ravel Real Rearrange Reciprocal Relu Relu6 Repeat Reshape Resize RightShift
    Roll Rot90 Round Rsqrt SSIM STFT SVD SaturateCast ScaleAndTranslate Scatter ScatterUpdate
    SearchSorted SegmentMax SegmentMin SegmentProd SegmentSum Select Selu SeparableConv Sigmoid
    Sign Signbit Silu Sin Sinc Sinh Size Slice SliceUpdate Slogdet SobelEdges SoftShrink Softmax
    Softplus Softsign Solve SolveTriangular Sort SpaceToDepth SparseCategoricalCrossentropy
    SparsePlus SparseSigmoid Sparsemax Split Sqrt Square Squareplus Squeeze Stack Std StopGradient
    Subtract Sum Swapaxes Take TakeAlongAxis Tan Tanh TanhShrink Tensordot Threshold Tile TopK
    Trace Transpose Trapezoid Tril Triu TrueDivide Trunc Unfold Unique UnravelIndex Unstack Vander
    Var Vdot View ViewAsComplex ViewAsReal Vsplit Vstack Where ZerosLike
"""

_SMALL_PARTS = """
    Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity IdentityInitializer
    LecunNormal LecunUniform Ones Orthogonal OrthogonalInitializer RandomNormal RandomUniform
    TruncatedNormal VarianceScaling Zeros
    L1 L2 L1L2 OrthogonalRegularizer MaxNorm MinMaxNorm NonNeg UnitNorm
    STFT STFTInitializer
    DTypePolicy DTypePolicyMap FloatDTypePolicy Policy SeedGenerator
    QuantizedDTypePolicy QuantizedFloat8DTypePolicy Int4DTypePolicy
    AbsMaxQuantizer Int8QuantizationConfig Int4QuantizationConfig Float8QuantizationConfig
"""

_CODE = "carries Python code, and code from a file is never run"
_FUNCTION = "calls a function from the file, and code from a file is never run"
_OF_KERAS_2 = (
    "is how Keras 2 calls a function of TensorFlow, here one that Keras 3 has not, or as another"
)
_BASE = "is only the base of other classes"
REFUSED = {
    **dict.fromkeys(("Lambda", "JaxLayer", "FlaxLayer", "TorchModuleWrapper"), _CODE),
    "TFSMLayer": "reads another model from a path",
    **dict.fromkeys(("TFOpLambda", "SlicingOpLambda"), _OF_KERAS_2),
    "ThresholdedReLU": "Keras 3 does not have",
    "MaxNumBoundingBoxes": "works on boxes in pictures, not on rows",
    **dict.fromkeys(("Layer", "Wrapper", "InputSpec", "Operation", "SegmentReduction"), _BASE),
    **dict.fromkeys(("AssociativeScan", "Cond", "ForiLoop", "JVP", "Map", "Scan"), _FUNCTION),
    **dict.fromkeys(("Switch", "VectorizedMap", "WhileLoop", "Function"), _FUNCTION),
}
"""Why the other layers and operations of Keras 3.15, and some of Keras 2, are refused."""

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

PARTS = frozenset((*_LAYERS.split(), *_OF_APPLICATIONS.split(), *_OPERATIONS.split(), *MODELS))
"""Layers, operations and models: what Keras builds a model of."""

_SMALL_PART_MODULES = """
    keras keras.initializers keras.src.initializers. keras.regularizers keras.src.regularizers.
    keras.constraints keras.src.constraints. keras.dtype_policies keras.src.dtype_policies.
    keras.mixed_precision keras.random keras.quantizers keras.src.quantizers.
"""

# (modules, class names); a module that ends in "." includes those below it. A file in the
# older format gives no module.
_NAMESPACES = tuple(
    (modules.split(), frozenset(names.split()))
    for modules, names in (
        ("keras.layers keras.src.layers.", _LAYERS),
        ("keras.src.applications.", _OF_APPLICATIONS),
        ("keras.ops keras.src.ops.", _OPERATIONS),
        ("keras keras.models keras.src.models. keras.src.engine.", " ".join(MODELS)),
        (_SMALL_PART_MODULES, _SMALL_PARTS),
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
