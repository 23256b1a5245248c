"""A failing call as it is kept: its forms, its signature, what it said."""

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Failure
from mcp_reflect.reflect.forms import Forms, forms_of
from mcp_reflect.reflect.rules.faults import Fault
from mcp_reflect.reflect.rules.words import clip
from mcp_reflect.signature import fingerprint, signature

ERROR_LIMIT = 500  # characters of the error in a failure


def failure_of(
    tool: str, arguments: Json, fault: Fault, event_id: str, *, forms: Forms | None = None, worked: Json = None
) -> Failure:
    """The failure of a call; `worked` are the arguments of the call that then worked."""
    forms = forms or forms_of(tool, arguments)
    error = fingerprint(fault.headline)
    return Failure(
        event_id=event_id,
        tool=tool,
        arguments=arguments,
        call=forms.loose,
        head=forms.head,
        exact=forms.exact_key,
        bare=forms.bare_key,
        loose=forms.loose_key,
        fingerprint=error,
        signature=signature(forms.family, forms.loose, error),
        category=fault.category,
        error=clip(fault.text, ERROR_LIMIT),
        worked=worked,
    )
