"""The class that pages show against all others, in a run at hand or in a saved one."""

from hetcal.class_run import ClassRun
from hetcal.saved_class_run import SavedClassRun
from pages.shared.state import Workspace


class ShownClass:
    """What a flow of several classes adds to one of two."""

    workspace: Workspace
    class_names: tuple[str, ...]
    class_run: ClassRun | SavedClassRun

    @property
    def number(self) -> int:
        """Number of the class shown."""
        names, shown = self.class_names, self.workspace.class_shown
        return names.index(shown) if shown in names else 0

    @property
    def shown(self) -> str:
        """Name of the class shown."""
        return self.class_names[self.number]
