"""Failures as they are stored, so that a later session is warned before it makes the same call."""

from typing import TYPE_CHECKING, Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Failure
from mcp_reflect.sessions.call_forms import Forms, forms_of
from mcp_reflect.sessions.text import clip
from mcp_reflect.text.signature import fingerprint, signature

if TYPE_CHECKING:
    from mcp_reflect.sessions.faults import Fault

ERROR_LIMIT: Final = 500  # characters of the error in a failure


def failure_of(
    tool: str,
    arguments: Json,
    fault: "Fault",
    event_id: str,
    *,
    forms: Forms | None = None,
    worked: Json = None,
) -> Failure:
    """Return the failure of a call as it is stored; `worked` are the arguments of the call that then worked.

    Two failures have one signature where a tool failed with one error at calls that are the same in their loose form.
    `forms` are those of the call, where the caller has read them already.
    """
    forms = forms or forms_of(tool, arguments)
    error_fingerprint = fingerprint(fault.headline)
    return Failure(
        event_id=event_id,
        tool=tool,
        arguments=arguments,
        call=forms.loose,
        head=forms.head,
        exact_key=forms.exact_key,
        bare_key=forms.bare_key,
        loose_key=forms.loose_key,
        fingerprint=error_fingerprint,
        signature=signature(forms.tool_name, forms.loose, error_fingerprint),
        category=fault.category,
        error=clip(fault.text, ERROR_LIMIT),
        worked=worked,
    )
