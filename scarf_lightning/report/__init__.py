"""From results to the paper's tests, tables and figures. Free of torch and Lightning.

``scarf_lightning.report(...)`` writes a report: the package of that name can be called.
"""

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    def __call__(self, *asked: Any, **options: Any) -> Any:
        """See `scarf_lightning.running.reporting.report`."""
        from ..running.reporting import report

        return report(*asked, **options)


sys.modules[__name__].__class__ = _CallablePackage
