# SPDX-License-Identifier: Apache-2.0
"""Short forms of a topology's upstream channels, written out before they are validated."""

from docsis_control.config.errors import ConfigError
from docsis_control.config.yaml_file import Document, Location
from docsis_control.mac.profiles import NAMES, NONE
from docsis_control.topology.neighbourhood import Data, Where

_ONE = "upstream_channel"
_SEVERAL = "upstream_channels"


def write_out_channels(document: Document, data: Data) -> Where:
    """Replaces short forms in `data`, which is changed.

    Raises:
        ConfigError: There are both forms, or a name stands where no profile has it.
    """
    if _ONE in data:
        if _SEVERAL in data:
            raise ConfigError(
                [document.problem((_ONE,), f"stands beside {_SEVERAL}; keep one of them")]
            )
        one = data.pop(_ONE)
        if one != NONE:
            data[_SEVERAL] = [_channel(document, (_ONE,), one, 1)]

        def where(location: Location) -> Location:
            return (_ONE, *location[2:]) if location[:1] == (_SEVERAL,) else location

        return where
    entries = data.get(_SEVERAL)
    if isinstance(entries, list):
        data[_SEVERAL] = [
            _channel(document, (_SEVERAL, index), entry, index + 1)
            for index, entry in enumerate(entries)
        ]
    return lambda location: location


def _channel(document: Document, at: Location, entry: object, number: int) -> object:
    """A channel as its model has it; what is none is left to validation."""
    if isinstance(entry, str):
        if entry not in NAMES:
            raise ConfigError(
                [
                    document.problem(
                        at, f'there is no profile "{entry}"; there are {", ".join(NAMES)}'
                    )
                ]
            )
        entry = {"profile": entry}
    return {"name": f"us{number}", **entry} if isinstance(entry, dict) else entry
