"""LanceDB and Arrow: the only room that knows how records and passages lie on disk."""

import importlib.util
import sys

# LanceDB imports the models of a REST client that is of use for its cloud alone, and with them all of that
# client: 0.8 of 1.5 s, and 14 MB. An unexecuted package gives it the models and nothing else.
_UNUSED = "lance_namespace_urllib3_client"
if _UNUSED not in sys.modules and (_spec := importlib.util.find_spec(_UNUSED)) is not None:
    sys.modules[_UNUSED] = importlib.util.module_from_spec(_spec)
