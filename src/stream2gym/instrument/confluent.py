"""Records programs that use confluent-kafka.

Its clients are classes of a C module that cannot be changed but can be subclassed. The subclasses take their places
in ``confluent_kafka.cimpl`` as that is loaded: every other module of the library, the serialising and the asyncio
clients too, copies the names from there.
"""

from __future__ import annotations

from types import ModuleType

from .confluent_arguments import LIBRARY
from .confluent_consumer import make_consumer_class, make_share_consumer_class
from .confluent_producer import make_producer_class
from .recorder import Recorder
from .versions import is_known


def change(module: ModuleType, recorder: Recorder) -> None:
    """Put recording clients in the places of those of ``confluent_kafka.cimpl``."""
    told = module.version()
    version = str(told if isinstance(told, str) else told[0])
    if not is_known(recorder, LIBRARY, version):
        return
    module.Producer = make_producer_class(module, recorder, version)  # type: ignore[attr-defined]
    module.Consumer = make_consumer_class(module, recorder, version)  # type: ignore[attr-defined]
    if hasattr(module, "ShareConsumer"):
        module.ShareConsumer = make_share_consumer_class(module.ShareConsumer, recorder)  # type: ignore[attr-defined]
