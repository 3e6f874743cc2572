"""The shapes of bodies. Generated from the OpenAPI document by .ci/clients/python."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class Pagination(TypedDict):
    """Where in the list this page is."""

    page: int
    """The page of this answer; the first is 1."""
    per_page: int
    """Calls on a full page."""
    total_items: int
    """Calls that match, on all pages together. Exact."""
    total_pages: int
    """At least 1, also where nothing matches: read until `page` equals it."""


class Error1(TypedDict):
    """Why the request was not served."""

    code: Literal['bad_request', 'unauthorized', 'not_found', 'rate_limited', 'internal_error']
    """For programs. The five codes are the whole list; the status says more."""
    message: str
    """For people: the fault, and how to mend it. Its wording may change."""
    request_id: str
    """The same as `X-Request-Id`. Log it, and quote it when you ask for help."""


class Error(TypedDict):
    """The body of every answer of status 400 and above."""

    error: Error1
    """Why the request was not served."""


class BillingOffice(TypedDict):
    """A billing office of the organization."""

    name: str
    """Identifies the office; the value for `billing_office_name` when a project is created."""
    is_default: bool
    """Projects are billed by it where they name no other. True of one office at most."""


class BillingOfficeList(TypedDict):
    """The billing offices of the organization."""

    data: list[BillingOffice]
    """All offices: the default first, then by name."""


class Person(TypedDict):
    """A user of the organization."""

    name: str | None
    """Null where not recorded."""
    email: str
    """As it is recorded."""


class Project(TypedDict):
    """A project of the organization."""

    project_id: str
    """Identifies the project."""
    name: str | None
    """Null where an imported project has none."""
    summary: str | None
    """The scope of the research. Null where there is none."""
    status: str | None
    """`active` for a new project. Null where an imported project has none."""
    created_at: str
    """When the project was created. RFC 3339, in UTC, to the millisecond."""
    lead: Person | None
    """Null where an imported project has none."""
    members: list[Person]
    """All others on the project, further leads of an imported project among them, by e-mail."""
    billing_office_name: str | None
    """The office that is billed. Null where there is none."""


class TranscriptSegment(TypedDict):
    """The words of one speaker, up to the next speaker."""

    speaker: str | None
    """Null where not recorded."""
    start_seconds: float | None
    """Seconds from the start of the recording. Null where not recorded."""
    text: str
    """The words."""


class TranscriptEntry(TypedDict):
    """One transcript of the call."""

    kind: Literal['verbatim', 'redacted', 'clean']
    """`verbatim`: word by word. `redacted`: with identifying details taken out, there once `anonymity_status` is `complete`. `clean`: the question-and-answer blocks as text; it also needs `qa_blocks` enabled."""
    language: str | None
    """Language of the text. Null where not recorded."""
    text: str
    """The whole text. Of a segmented transcript, a line `speaker: text` for each segment; of `clean`, `Q: ...` and `A: ...` lines with an empty line between blocks."""
    segments: list[TranscriptSegment]
    """The segments, in order. Empty where the transcript was recorded as plain text, and of `clean`."""


class CallListItem(TypedDict):
    """A call in a list: no names, no e-mail addresses."""

    call_id: str
    """Identifies the call within the organization. Opaque."""
    duration_minutes: float | None
    """Minutes. Null where unknown."""
    created_at: str
    """When the record was created, which is not when the call took place. RFC 3339, in UTC, to the millisecond."""
    updated_at: str
    """When anything that the call detail can show last changed. RFC 3339, in UTC, to the millisecond."""
    date: str | None
    """When the call took place, or is to take place. Null where unknown. RFC 3339, in UTC, to the millisecond."""
    call_type: Literal['interview', 'meeting']
    """`interview`: a call with an expert. `meeting`: an internal or recorded meeting."""
    call_status: Literal['candidate', 'reached_out', 'scheduled', 'not_scheduled', 'not_interested', 'done', 'rescheduled', 'canceled'] | None
    """Where scheduling stands; `done` means that the call took place. Null where not recorded."""
    project_id: str | None
    """The project it belongs to. Null where it belongs to none."""
    segment: NotRequired[str | None]
    """The project's label for this type of interviewee. Null where it has none. Absent where `segment` is not among the organization's `allowed_fields`."""
    source: NotRequired[str | None]
    """An expert network's name, or the label of an import. Null where not recorded. Absent where `source` is not among the organization's `allowed_fields`."""
    has_transcript: bool
    """A verbatim transcript is recorded. Always false where neither `transcripts.verbatim` nor `transcripts.redacted` is among the `allowed_fields`."""


class CallList(TypedDict):
    """A page of calls."""

    data: list[CallListItem]
    """The calls of this page, newest first. Empty past the last page."""
    pagination: Pagination


class Interviewee(TypedDict):
    """The person interviewed. Always an object; empty where none of its fields is enabled."""

    name: NotRequired[str | None]
    """As recorded, or anonymized where the organization asks for that. Null where not recorded. Absent where `interviewee.name` is not among the organization's `allowed_fields`."""
    job_title: NotRequired[str | None]
    """Null where not recorded. Absent where `interviewee.job_title` is not among the organization's `allowed_fields`."""
    organization: NotRequired[str | None]
    """The interviewee's employer. Null where not recorded. Absent where `interviewee.organization` is not among the organization's `allowed_fields`."""
    country: NotRequired[str | None]
    """Null where not recorded. Absent where `interviewee.country` is not among the organization's `allowed_fields`."""
    bio: NotRequired[str | None]
    """A few sentences on the interviewee. Null where not recorded. Absent where `interviewee.bio` is not among the organization's `allowed_fields`."""


class Participant(TypedDict):
    """Somebody who took part in the call."""

    name: str | None
    """Null where not recorded. The interviewee's name is shown as `interviewee.name` shows it."""
    role: str | None
    """Their part in the call, such as `Lead`. Null where not recorded."""
    email: NotRequired[str | None]
    """Null where not recorded. Absent where `participants.email` is not among the organization's `allowed_fields`. Also absent for the interviewee where another name replaces the recorded one."""


class QaBlock(TypedDict):
    """A question and its answer."""

    id: str
    """Identifies the block."""
    question: str | None
    """Null where not recorded."""
    answer: str | None
    """The answer, rewritten as a clean statement that stands alone. Null where not recorded."""
    section: str | None
    """The heading it belongs under. Null where it has none."""


class Call(TypedDict):
    """A call in full, as far as the organization may see it."""

    call_id: str
    """Identifies the call within the organization. Opaque."""
    project_id: str | None
    """The project it belongs to. Null where it belongs to none."""
    call_type: Literal['interview', 'meeting']
    """`interview`: a call with an expert. `meeting`: an internal or recorded meeting."""
    call_status: Literal['candidate', 'reached_out', 'scheduled', 'not_scheduled', 'not_interested', 'done', 'rescheduled', 'canceled'] | None
    """Where scheduling stands; `done` means that the call took place. Null where not recorded."""
    anonymity_status: Literal['not_requested', 'started', 'complete', 'errored'] | None
    """Where redaction of the transcript stands. Null where not recorded."""
    date: str | None
    """When the call took place, or is to take place. Null where unknown. RFC 3339, in UTC, to the millisecond."""
    created_at: str
    """When the record was created, which is not when the call took place. RFC 3339, in UTC, to the millisecond."""
    updated_at: str
    """When anything that the call detail can show last changed. RFC 3339, in UTC, to the millisecond."""
    duration_minutes: float | None
    """Minutes. Null where unknown."""
    segment: NotRequired[str | None]
    """The project's label for this type of interviewee. Null where it has none. Absent where `segment` is not among the organization's `allowed_fields`."""
    source: NotRequired[str | None]
    """An expert network's name, or the label of an import. Null where not recorded. Absent where `source` is not among the organization's `allowed_fields`."""
    rating: NotRequired[float | None]
    """From 1 to 5, 5 being best. Null where the call is not rated. Absent where `rating` is not among the organization's `allowed_fields`."""
    cost: NotRequired[float | None]
    """Recorded spend, in the project's currency. Null where not recorded. Absent where `cost` is not among the organization's `allowed_fields`."""
    interviewee: Interviewee
    participants: NotRequired[list[Participant]]
    """The people who took part; empty where nobody is recorded. Absent where `participants` is not among the organization's `allowed_fields`."""
    summary: NotRequired[str | None]
    """Summary of the call, in Markdown. Null where there is none yet. Absent where `summary` is not among the organization's `allowed_fields`."""
    key_takeaways: NotRequired[str | None]
    """Key takeaways, in Markdown. Null where there are none yet. Absent where `key_takeaways` is not among the organization's `allowed_fields`."""
    key_takeaways_status: NotRequired[Literal['pending', 'approved'] | None]
    """`pending`: generated, not yet reviewed. `approved`: reviewed. Null where not recorded. Absent where `key_takeaways` is not among the organization's `allowed_fields`."""
    qa_blocks: NotRequired[list[QaBlock]]
    """Questions and answers, in the order of the call; empty where there are none. Absent where `qa_blocks` is not among the organization's `allowed_fields`."""
    transcripts: list[TranscriptEntry]
    """At most one entry of each kind. An entry is there where it is recorded, its kind is enabled (`transcripts.verbatim`, `transcripts.redacted`, `transcripts.clean`) and the request does not leave it out."""


class CallDetailList(TypedDict):
    """A page of calls in full, as `expand=detail` asks for it."""

    data: list[Call]
    """The calls of this page in full, newest first. Empty past the last page."""
    pagination: Pagination


CallPage: TypeAlias = CallList | CallDetailList
"""A page of list items, or with `expand=detail` of calls in full."""


class Info(TypedDict):
    """Title and version of the API."""

    title: str
    """Name of the API."""
    version: str
    """Version of the API."""


class OpenApiDocument(TypedDict):
    """An OpenAPI document."""

    openapi: str
    """Version of the OpenAPI Specification."""
    info: Info
    """Title and version of the API."""
    paths: dict[str, Any]
    """The operations by path and method."""


class CallChanged(TypedDict):
    """A call was created or changed. Replace what you have of it."""

    type: Literal['call.changed']
    """Which kind of change this is."""
    call_id: str
    """The `call_id` of the call."""
    changed_at: str
    """The `updated_at` of the call. RFC 3339, in UTC, to the millisecond."""
    call: NotRequired[Call]
    """The call in full. There with `expand=detail` only."""


class CallDeleted(TypedDict):
    """A call was deleted. Delete what you have of it, if you have anything."""

    type: Literal['call.deleted']
    """Which kind of change this is."""
    call_id: str
    """The `call_id` of the call."""
    changed_at: str
    """When the call was deleted. RFC 3339, in UTC, to the millisecond."""


class AccessChanged(TypedDict):
    """The organization's fields, or whether it anonymizes names, changed. All calls follow again, as they look under the new settings."""

    type: Literal['access.changed']
    """Which kind of change this is."""
    call_id: None
    """The change concerns every call."""
    changed_at: str
    """When the settings changed. RFC 3339, in UTC, to the millisecond."""


Change: TypeAlias = CallChanged | CallDeleted | AccessChanged
"""A change. `type` tells which."""


class ChangeList(TypedDict):
    """A page of changes."""

    data: list[Change]
    """The changes of this page, in the order in which they were committed."""
    next_cursor: str
    """Send it as `cursor` to go on. Opaque. Keep it with the changes of this page."""
    has_more: bool
    """Whether more changes are there now. False: come again later with `next_cursor`."""


MemberEmail: TypeAlias = str


class NewProject(TypedDict):
    """A project to be created."""

    name: str
    """Name of the project. White space at its ends is cut off, and does not count."""
    lead_email: str
    """The e-mail address of the lead, in any case: a user of the organization."""
    member_emails: NotRequired[list[MemberEmail] | None]
    """The e-mail addresses of the other members: users of the organization. The lead and repeated addresses are passed over."""
    billing_office_name: NotRequired[str | None]
    """The office that is billed: one of the names of `GET /billing-offices`, exactly. Absent: the default office, or none where there is none."""
    summary: NotRequired[str | None]
    """The scope of the research."""
