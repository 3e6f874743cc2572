"""The shapes of bodies. Generated from the OpenAPI document by .ci/clients/python."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class Pagination(TypedDict):
    """The position of this page in the list."""

    page: int
    """The number of this page; the first is 1."""
    per_page: int
    """Calls on a full page."""
    total_items: int
    """The exact number of matching calls on all pages."""
    total_pages: int
    """The number of pages; 1 if nothing matches. Read pages until `page` equals it."""


class LineError(TypedDict):
    """Why a line was refused."""

    line: int
    """Position in the body; the first line is 1. Blank lines count."""
    field: str | None
    """The field at fault; null if it is the whole line."""
    reason: str
    """Continues a sentence that begins with the field."""


class Error1(TypedDict):
    """Why the request failed."""

    code: Literal['bad_request', 'unauthorized', 'not_found', 'rate_limited', 'internal_error']
    """For programs. There are only these five codes; the status is more specific."""
    message: str
    """For people: what is wrong, and how to fix it. Its wording may change."""
    request_id: str
    """The same as `X-Request-Id`. Log it, and quote it when you contact support."""
    details: NotRequired[list[LineError]]
    """The refused lines of `POST /records` with `on_refusal=abort`. Otherwise absent."""


class Error(TypedDict):
    """The body of every response with a status of 400 or above."""

    error: Error1
    """Why the request failed."""


class BillingOffice(TypedDict):
    """A billing office of the organization."""

    name: str
    """Identifies the office; the value for `billing_office_name` when a project is created."""
    is_default: bool
    """Whether this office bills projects that name no other. True for at most one office."""


class BillingOfficeList(TypedDict):
    """The billing offices of the organization."""

    data: list[BillingOffice]
    """All offices: the default first, then by name."""


class Person(TypedDict):
    """A user of the organization."""

    name: str | None
    """Null if not recorded."""
    email: str
    """As recorded."""


class Project(TypedDict):
    """A project of the organization."""

    project_id: str
    """Identifies the project."""
    name: str | None
    """Null if an imported project has none."""
    summary: str | None
    """The scope of the research. Null if there is none."""
    status: str | None
    """`active` for a new project. Null if an imported project has none."""
    created_at: str
    """When the project was created. RFC 3339, in UTC, to the millisecond."""
    billing_office_name: str | None
    """The office that is billed. Null if there is none."""
    lead: Person | None
    """Null if an imported project has none."""
    members: list[Person]
    """All other people on the project, ordered by e-mail. Includes further leads of an imported project."""


class ProjectListItem(TypedDict):
    """A project in a list: without its people."""

    project_id: str
    """Identifies the project."""
    name: str | None
    """Null if an imported project has none."""
    summary: str | None
    """The scope of the research. Null if there is none."""
    status: str | None
    """`active` for a new project. Null if an imported project has none."""
    created_at: str
    """When the project was created. RFC 3339, in UTC, to the millisecond."""
    billing_office_name: str | None
    """The office that is billed. Null if there is none."""
    is_archived: bool
    """Whether the tools return the project only if archived ones are requested."""


class ProjectList(TypedDict):
    """A page of projects."""

    data: list[ProjectListItem]
    """The projects of this page, newest first."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Opaque. Null on the last page."""


class RecordsResult(TypedDict):
    """What became of the lines."""

    lines: int
    """Lines of the body, blank ones included."""
    accepted: int
    """Lines that changed something."""
    unchanged: int
    """Lines that changed nothing, because it was stored already."""
    refused: int
    """Lines that were not stored."""
    errors: list[LineError]
    """Why lines were refused, in order."""


class PutCallResult(TypedDict):
    """What became of the call."""

    call_id: str
    """Identifies the call."""
    result: Literal['created', 'replaced', 'unchanged']
    """`unchanged`: it was stored like this already."""


class PatchCallResult(TypedDict):
    """What became of the call."""

    call_id: str
    """Identifies the call."""
    result: Literal['merged', 'unchanged']
    """`unchanged`: it was stored like this already."""


class TranscriptSegment(TypedDict):
    """What one speaker says until the next one speaks."""

    speaker: str | None
    """Null if not recorded."""
    start_seconds: float | None
    """Seconds from the start of the recording. Null if not recorded."""
    text: str
    """The words."""


class TranscriptEntry(TypedDict):
    """One transcript of the call."""

    kind: Literal['verbatim', 'redacted', 'clean']
    """`verbatim`: the exact words. `redacted`: identifying details are removed; present once `anonymity_status` is `complete`. `clean`: the question-and-answer blocks as text; present only if `qa_blocks` is enabled too."""
    language: str | None
    """Language of the text. Null if not recorded."""
    text: str
    """The full text. A segmented transcript has a line `speaker: text` for each segment; `clean` has `Q: ...` and `A: ...` lines, with an empty line between blocks."""
    segments: list[TranscriptSegment]
    """The segments, in order. Empty for `clean`, and if the transcript was recorded as plain text."""


class CallListItem(TypedDict):
    """A call in a list: no names, no e-mail addresses."""

    call_id: str
    """Identifies the call within the organization. Opaque."""
    duration_minutes: float | None
    """Minutes. Null if unknown."""
    created_at: str
    """When the record was created, which is not when the call took place. RFC 3339, in UTC, to the millisecond."""
    updated_at: str
    """When anything in the call detail last changed. RFC 3339, in UTC, to the millisecond."""
    date: str | None
    """When the call took place or is scheduled. Null if unknown. RFC 3339, in UTC, to the millisecond."""
    call_type: Literal['interview', 'meeting']
    """`interview`: a call with an expert. `meeting`: an internal or recorded meeting."""
    call_status: Literal['candidate', 'reached_out', 'scheduled', 'not_scheduled', 'not_interested', 'done', 'rescheduled', 'canceled'] | None
    """The status of scheduling. `done`: the call took place. Null if not recorded."""
    project_id: str | None
    """The project of the call. Null if it has none."""
    segment: NotRequired[str | None]
    """The project's label for this type of interviewee. Null if it has none. Absent if `segment` is not among the organization's `allowed_fields`."""
    source: NotRequired[str | None]
    """An expert network's name, or the label of an import. Null if not recorded. Absent if `source` is not among the organization's `allowed_fields`."""
    has_transcript: bool
    """Whether a verbatim transcript is recorded. Always false if neither `transcripts.verbatim` nor `transcripts.redacted` is among the `allowed_fields`."""


class CallList(TypedDict):
    """A page of calls."""

    data: list[CallListItem]
    """The calls of this page, newest first. Empty past the last page."""
    pagination: Pagination


class Interviewee(TypedDict):
    """The person interviewed. Always an object; empty if none of its fields are enabled."""

    name: NotRequired[str | None]
    """As recorded, or anonymized if the organization's settings require it. Null if not recorded. Absent if `interviewee.name` is not among the organization's `allowed_fields`."""
    job_title: NotRequired[str | None]
    """Null if not recorded. Absent if `interviewee.job_title` is not among the organization's `allowed_fields`."""
    organization: NotRequired[str | None]
    """The interviewee's employer. Null if not recorded. Absent if `interviewee.organization` is not among the organization's `allowed_fields`."""
    country: NotRequired[str | None]
    """Null if not recorded. Absent if `interviewee.country` is not among the organization's `allowed_fields`."""
    bio: NotRequired[str | None]
    """A few sentences on the interviewee. Null if not recorded. Absent if `interviewee.bio` is not among the organization's `allowed_fields`."""


class Participant(TypedDict):
    """Somebody who took part in the call."""

    name: str | None
    """Null if not recorded. The interviewee has the same name as in `interviewee.name`."""
    role: str | None
    """Their role in the call, such as `Lead`. Null if not recorded."""
    email: NotRequired[str | None]
    """Null if not recorded. Absent if `participants.email` is not among the organization's `allowed_fields`. Also absent for the interviewee if their name is anonymized."""


class QaBlock(TypedDict):
    """A question and its answer."""

    id: str
    """Identifies the block."""
    question: str | None
    """Null if not recorded."""
    answer: str | None
    """The answer, rewritten as a self-contained statement. Null if not recorded."""
    section: str | None
    """The heading of the block. Null if it has none."""


class Call(TypedDict):
    """All the details of a call that the organization may see."""

    call_id: str
    """Identifies the call within the organization. Opaque."""
    project_id: str | None
    """The project of the call. Null if it has none."""
    call_type: Literal['interview', 'meeting']
    """`interview`: a call with an expert. `meeting`: an internal or recorded meeting."""
    call_status: Literal['candidate', 'reached_out', 'scheduled', 'not_scheduled', 'not_interested', 'done', 'rescheduled', 'canceled'] | None
    """The status of scheduling. `done`: the call took place. Null if not recorded."""
    anonymity_status: Literal['not_requested', 'started', 'complete', 'errored'] | None
    """The status of redaction of the transcript. Null if not recorded."""
    date: str | None
    """When the call took place or is scheduled. Null if unknown. RFC 3339, in UTC, to the millisecond."""
    created_at: str
    """When the record was created, which is not when the call took place. RFC 3339, in UTC, to the millisecond."""
    updated_at: str
    """When anything in the call detail last changed. RFC 3339, in UTC, to the millisecond."""
    duration_minutes: float | None
    """Minutes. Null if unknown."""
    segment: NotRequired[str | None]
    """The project's label for this type of interviewee. Null if it has none. Absent if `segment` is not among the organization's `allowed_fields`."""
    source: NotRequired[str | None]
    """An expert network's name, or the label of an import. Null if not recorded. Absent if `source` is not among the organization's `allowed_fields`."""
    rating: NotRequired[float | None]
    """From 1 (worst) to 5 (best). Null if the call is not rated. Absent if `rating` is not among the organization's `allowed_fields`."""
    cost: NotRequired[float | None]
    """Recorded spend, in the project's currency. Null if not recorded. Absent if `cost` is not among the organization's `allowed_fields`."""
    interviewee: Interviewee
    participants: NotRequired[list[Participant]]
    """The people who took part; empty if none are recorded. Absent if `participants` is not among the organization's `allowed_fields`."""
    summary: NotRequired[str | None]
    """Summary of the call, in Markdown. Null if there is none yet. Absent if `summary` is not among the organization's `allowed_fields`."""
    key_takeaways: NotRequired[str | None]
    """Key takeaways, in Markdown. Null if there are none yet. Absent if `key_takeaways` is not among the organization's `allowed_fields`."""
    key_takeaways_status: NotRequired[Literal['pending', 'approved'] | None]
    """`pending`: generated, not yet reviewed. `approved`: reviewed. Null if not recorded. Absent if `key_takeaways` is not among the organization's `allowed_fields`."""
    qa_blocks: NotRequired[list[QaBlock]]
    """Questions and answers, in the order of the call; empty if there are none. Absent if `qa_blocks` is not among the organization's `allowed_fields`."""
    transcripts: list[TranscriptEntry]
    """At most one entry of each kind. A kind is present if it is recorded and enabled (`transcripts.verbatim`, `transcripts.redacted`, `transcripts.clean`) and the request does not exclude it."""


class CallDetailList(TypedDict):
    """A page of calls in full, returned with `expand=detail`."""

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


class Entity(TypedDict):
    """A company, product or the like that was recognized in the calls of a project."""

    entity_id: str
    """Identifies the entity."""
    project_id: str
    """The project in whose calls it was recognized."""
    name: str | None
    """Null if not recorded."""
    type: str | None
    """For example `company` or `product`. Null if not recorded."""
    category: str | None
    """Null if not recorded."""
    competitor_tier: str | None
    """How close a competitor is. Null if not recorded."""
    is_competitor: bool | None
    """Whether it competes with the subject of the research. Null if unknown."""
    description: NotRequired[str | None]
    """What it is, in short. Null if not recorded. Absent if `summary` is not among the organization's `allowed_fields`."""
    overview: NotRequired[str | None]
    """What the calls say about it. Null if not recorded. Absent if `summary` is not among the organization's `allowed_fields`."""
    domain: str | None
    """Web domain. Null if unknown."""
    created_at: str
    """When it was first recognized in the project. RFC 3339, in UTC, to the millisecond."""


class EntityList(TypedDict):
    """A page of entities."""

    data: list[Entity]
    """The entities of this page, newest first."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Opaque. Null on the last page."""


class CallChanged(TypedDict):
    """A call was created or changed. Replace your copy of it."""

    type: Literal['call.changed']
    """The kind of change."""
    call_id: str
    """The `call_id` of the call."""
    changed_at: str
    """The `updated_at` of the call. RFC 3339, in UTC, to the millisecond."""
    call: NotRequired[Call]
    """The call in full. Present only with `expand=detail`."""


class CallDeleted(TypedDict):
    """A call was deleted. Delete your copy of it, if you have one."""

    type: Literal['call.deleted']
    """The kind of change."""
    call_id: str
    """The `call_id` of the call."""
    changed_at: str
    """When the call was deleted. RFC 3339, in UTC, to the millisecond."""


class ProjectChanged(TypedDict):
    """A project was created or changed. Replace your copy of it."""

    type: Literal['project.changed']
    """The kind of change."""
    project_id: str
    """The `project_id` of the project."""
    changed_at: str
    """When the project was created or changed. RFC 3339, in UTC, to the millisecond."""
    project: NotRequired[ProjectListItem]
    """The project as `GET /projects` lists it. Present only with `expand=detail`."""


class ProjectDeleted(TypedDict):
    """A project was deleted. Delete your copy of it, if you have one."""

    type: Literal['project.deleted']
    """The kind of change."""
    project_id: str
    """The `project_id` of the project."""
    changed_at: str
    """When the project was deleted. RFC 3339, in UTC, to the millisecond."""


class EntityChanged(TypedDict):
    """An entity was created or changed. Replace your copy of it."""

    type: Literal['entity.changed']
    """The kind of change."""
    entity_id: str
    """The `entity_id` of the entity."""
    changed_at: str
    """When the entity was created or changed. RFC 3339, in UTC, to the millisecond."""
    entity: NotRequired[Entity]
    """The entity as `GET /entities` lists it. Present only with `expand=detail`."""


class EntityDeleted(TypedDict):
    """An entity was deleted. Delete your copy of it, if you have one."""

    type: Literal['entity.deleted']
    """The kind of change."""
    entity_id: str
    """The `entity_id` of the entity."""
    changed_at: str
    """When the entity was deleted. RFC 3339, in UTC, to the millisecond."""


class AccessChanged(TypedDict):
    """The organization's allowed fields or its anonymization of names changed. All records follow again, rendered with the new settings."""

    type: Literal['access.changed']
    """The kind of change."""
    call_id: None
    """Always null: the change affects every record."""
    changed_at: str
    """When the settings changed. RFC 3339, in UTC, to the millisecond."""


Change: TypeAlias = CallChanged | CallDeleted | ProjectChanged | ProjectDeleted | EntityChanged | EntityDeleted | AccessChanged
"""A change. `type` is its kind."""


class ChangeList(TypedDict):
    """A page of changes."""

    data: list[Change]
    """The changes of this page, each type in the order in which its changes were committed."""
    next_cursor: str
    """Send it as `cursor` to continue. Opaque. Store it together with the changes of this page."""
    has_more: bool
    """Whether more changes are available now. False: poll again later with `next_cursor`."""


WebhookChange: TypeAlias = CallChanged | CallDeleted | AccessChanged
"""A change, without the call. After `access.changed`, all calls look different: read all again."""


class CallsChangedData(TypedDict):
    """The changes that a message tells of."""

    changes: list[WebhookChange]
    """In the order in which they were committed."""
    has_more: bool
    """Whether another message follows at once."""


class CallsChangedMessage(TypedDict):
    """Calls changed or were deleted."""

    type: Literal['calls.changed']
    """The kind of message."""
    timestamp: str
    """When the message was made. Repeated deliveries have the same value. RFC 3339, in UTC, to the millisecond."""
    data: CallsChangedData
    """The changes."""


class PingData(TypedDict):
    """Empty."""


class PingMessage(TypedDict):
    """The operator tests the endpoint."""

    type: Literal['ping']
    """The kind of message."""
    timestamp: str
    """When the message was made. Repeated deliveries have the same value. RFC 3339, in UTC, to the millisecond."""
    data: PingData


class Participant1(TypedDict):
    name: NotRequired[str | None]
    """The name."""
    role: NotRequired[str | None]
    """Any text, such as `host`."""
    email: NotRequired[str | None]
    """Any address, not only of a user."""


class Expert(TypedDict):
    """The interviewee."""

    country: NotRequired[str | None]
    """Any spelling. `list_calls` ignores its case."""
    job_title: NotRequired[str | None]
    """Job title."""
    organization: NotRequired[str | None]
    """The employer."""
    name: NotRequired[str | None]
    """The real name."""
    bio: NotRequired[str | None]
    """Short biography."""


class QaBlock1(TypedDict):
    id: NotRequired[str | None]
    """Unique within the call. Absent: derived from the call and the position."""
    question: NotRequired[str | None]
    """The question."""
    answer: NotRequired[str | None]
    """The answer, which can be read alone."""
    section: NotRequired[str | None]
    """Heading above the question."""


class Note(TypedDict):
    email: str
    """The author. A user has one note, which nobody else sees."""
    text: NotRequired[str | None]
    """The note. Null: none."""


class TranscriptItem(TypedDict):
    speaker: NotRequired[str | None]
    """Who speaks."""
    start_seconds: NotRequired[float | None]
    """Since the start of the call."""
    text: str
    """What is said."""


class RedactedTranscriptItem(TypedDict):
    speaker: NotRequired[str | None]
    """Who speaks."""
    start_seconds: NotRequired[float | None]
    """Since the start of the call."""
    text: str
    """What is said."""


class CallRecord(TypedDict):
    project_id: NotRequired[str | None]
    """Null: only the user who conducted the call sees it in the tools."""
    call_type: NotRequired[Literal['interview', 'meeting'] | None]
    """`interview`: a call with an expert. `meeting`: an internal or recorded meeting."""
    call_status: NotRequired[Literal['scheduled', 'reached_out', 'not_scheduled', 'done', 'rescheduled', 'not_interested', 'canceled', 'candidate'] | None]
    """State of scheduling."""
    anonymity_status: NotRequired[Literal['not_requested', 'started', 'complete', 'errored'] | None]
    """State of the redaction. REST returns the redacted transcript once this is `complete`."""
    date: NotRequired[str | None]
    """When the call takes place."""
    duration_minutes: NotRequired[float | None]
    """Length of the call."""
    cost: NotRequired[float | None]
    """Recorded spend in the currency of the project."""
    rating: NotRequired[float | None]
    """5 is best."""
    segment: NotRequired[str | None]
    """Label that groups a project's calls by kind of interviewee."""
    source: NotRequired[str | None]
    """Any text, such as the name of an expert network."""
    anonymized_name: NotRequired[str | None]
    """Replaces the name at REST, if names are anonymized. Null: REST generates one."""
    language: NotRequired[str | None]
    """Language of the transcripts, such as `en`."""
    summary: NotRequired[str | None]
    """Summary in Markdown."""
    ktas: NotRequired[str | None]
    """Key takeaways in Markdown. REST calls them `key_takeaways`."""
    kta_approval_status: NotRequired[Literal['pending', 'approved'] | None]
    """State of their review. REST calls it `key_takeaways_status`."""
    participants: NotRequired[list[Participant1] | None]
    """Who took part."""
    expert: NotRequired[Expert | None]
    """The interviewee."""
    qa_blocks: NotRequired[list[QaBlock1] | None]
    """Questions and answers, in the order of the call."""
    conducted_by: NotRequired[str | None]
    """The user who conducted the call, and therefore sees it."""
    created_at: NotRequired[str | None]
    """Absent: the stored time, or the time of this import."""
    notes: NotRequired[list[Note] | None]
    """Personal notes of users. REST never returns them."""
    transcript: NotRequired[str | list[TranscriptItem] | None]
    """The verbatim transcript: plain text or segments."""
    redacted_transcript: NotRequired[str | list[RedactedTranscriptItem] | None]
    """The transcript without traces of the interviewee, in the same form."""


class CallChange(TypedDict):
    project_id: NotRequired[str | None]
    """Null: only the user who conducted the call sees it in the tools."""
    call_type: NotRequired[Literal['interview', 'meeting'] | None]
    """`interview`: a call with an expert. `meeting`: an internal or recorded meeting."""
    call_status: NotRequired[Literal['scheduled', 'reached_out', 'not_scheduled', 'done', 'rescheduled', 'not_interested', 'canceled', 'candidate'] | None]
    """State of scheduling."""
    anonymity_status: NotRequired[Literal['not_requested', 'started', 'complete', 'errored'] | None]
    """State of the redaction. REST returns the redacted transcript once this is `complete`."""
    date: NotRequired[str | None]
    """When the call takes place."""
    duration_minutes: NotRequired[float | None]
    """Length of the call."""
    cost: NotRequired[float | None]
    """Recorded spend in the currency of the project."""
    rating: NotRequired[float | None]
    """5 is best."""
    segment: NotRequired[str | None]
    """Label that groups a project's calls by kind of interviewee."""
    source: NotRequired[str | None]
    """Any text, such as the name of an expert network."""
    anonymized_name: NotRequired[str | None]
    """Replaces the name at REST, if names are anonymized. Null: REST generates one."""
    language: NotRequired[str | None]
    """Language of the transcripts, such as `en`."""
    summary: NotRequired[str | None]
    """Summary in Markdown."""
    ktas: NotRequired[str | None]
    """Key takeaways in Markdown. REST calls them `key_takeaways`."""
    kta_approval_status: NotRequired[Literal['pending', 'approved'] | None]
    """State of their review. REST calls it `key_takeaways_status`."""
    participants: NotRequired[list[Participant1] | None]
    """Who took part."""
    expert: NotRequired[Expert | None]
    """The interviewee."""
    qa_blocks: NotRequired[list[QaBlock1] | None]
    """Questions and answers, in the order of the call."""
    conducted_by: NotRequired[str | None]
    """The user who conducted the call, and therefore sees it."""
    created_at: NotRequired[str | None]
    """Absent: the stored time, or the time of this import."""
    notes: NotRequired[list[Note] | None]
    """Personal notes of users. REST never returns them."""
    transcript: NotRequired[str | list[TranscriptItem] | None]
    """The verbatim transcript: plain text or segments."""
    redacted_transcript: NotRequired[str | list[RedactedTranscriptItem] | None]
    """The transcript without traces of the interviewee, in the same form."""


RecordLines: TypeAlias = str
"""One JSON object a line, as the chapter “Send records” of the guide describes."""


MemberEmail: TypeAlias = str


class NewProject(TypedDict):
    """The project to create."""

    name: str
    """Name of the project. Leading and trailing white space is removed and does not count."""
    lead_email: str
    """The e-mail address of the lead, case-insensitive. Must be a user of the organization."""
    member_emails: NotRequired[list[MemberEmail] | None]
    """The e-mail addresses of the other members, who must be users of the organization. The lead and repeated addresses are ignored."""
    billing_office_name: NotRequired[str | None]
    """The office that is billed: exactly one of the names that `GET /billing-offices` returns. Default: the default office, if there is one."""
    summary: NotRequired[str | None]
    """The scope of the research."""
