/**
 * The catalogue of refusals (spec: part A sections 4.1 and 7, part B sections 2.1 and 4.2): by `details.reason`, or by the
 * error of OAuth, the status, what it means and what a person can do.
 */
type Catalogue = Record<string, readonly [status: number, means: string, remedy: string]>;

const ofRequests = {
  account_claim_required: [403, 'the account must be claimed first', 'Open the claim link and claim it'],
  payment_method_required: [409, 'no card, and the credits do not cover it', 'Add a card or top up the credits'],
  already_accepted: [409, 'the proposal was hired before', 'Nothing is left to do'],
  not_fit_confirmation_required: [409, 'the proposal is marked NOT_FIT', 'Repeat it with --confirm-not-fit-override'],
  job_not_published: [409, 'the job is not published', 'Publish it first'],
  not_a_freelancer: [409, 'this user is no freelancer', 'Choose another person'],
  freelancer_unavailable: [409, 'the freelancer is not available', 'Choose another person, or try later'],
  employer_first_message_required: [409, 'the employer must write first', 'Send the first message'],
  proposal_not_ready_for_messaging: [409, 'the proposal allows no conversation yet', 'Try later'],
  message_policy_blocked: [403, "the message breaks the marketplace's policy", 'Change the message'],
  read_only_conversation: [409, 'the conversation takes no more messages', 'Use another conversation'],
  message_blocked: [409, 'the conversation takes no messages', 'Use another conversation'],
  moderation_blocked: [403, 'the job failed moderation', 'Change what the reasons name, and publish again'],
  teams_not_enabled: [403, 'the account has no team', 'Ask the marketplace for it'],
  invite_email_send_failed: [409, 'the invitation could not be sent', 'Check the address, and invite again'],
  contract_ended: [409, 'the contract has ended', 'Nothing is left to do'],
} as const satisfies Catalogue;

const ofAttachments = {
  MESSAGE_ID_REQUIRED: [400, 'the id of the message is missing', 'Name the message'],
  INVALID_MESSAGE_ID: [400, 'this is no id of a message', 'Check the id'],
  INVALID_ATTACHMENT_ID: [400, 'this is no id of an attachment', 'Take it from the message'],
  INVALID_DELIVERY: [400, 'there is no such delivery', 'Use bytes, inline, resource or auto'],
  MESSAGE_DELETED: [409, 'the message was deleted', 'The file is gone'],
  MESSAGE_HIDDEN: [409, 'the message is hidden', 'Ask the marketplace'],
  NO_REFERENCE: [409, 'the message refers to no file', 'Ask the sender for it'],
  PATH_NOT_BOUND_TO_CONVERSATION: [409, 'the file is of another conversation', 'Ask the sender for it'],
  EXTERNAL_HOST_NOT_ALLOWED: [409, 'the file is at a site that is not allowed', 'Ask the sender for it'],
  STORAGE_OBJECT_MISSING: [409, 'the file is missing', 'Ask the sender for it'],
  EXTERNAL_FETCH_FAILED: [409, 'the file could not be fetched', 'Try later'],
  OVERSIZE: [409, 'the file is over 20 MiB', 'Ask the sender for a smaller one'],
} as const satisfies Catalogue;

/** Of OAuth, RFC 8628 for the polls. */
const ofIdentity = {
  unsupported_identity_type: [400, 'only anonymous agents can register', 'Leave out the type'],
  anonymous_not_enabled: [403, 'agents cannot register at present', 'Ask the marketplace'],
  rate_limit_exceeded: [429, 'too many registrations', 'Try later'],
  authorization_pending: [400, 'nobody has claimed the account yet', 'Open the claim link'],
  slow_down: [400, 'it was polled too often', 'Wait longer between two polls'],
  expired_token: [400, 'the claim has expired', 'Register again'],
  invalid_grant: [400, 'the claim token is unknown or was used', 'Register again'],
  invalid_request: [400, 'the request is malformed', 'Check the input'],
  unsupported_grant_type: [400, 'there is no such grant type', 'Use the one of the registration'],
} as const satisfies Catalogue;

/** Of a changeset, for one of its operations. */
const ofChangesets = {
  REVISION_MISMATCH: [409, 'the page has a newer revision', 'Read it, and make the change again'],
  CHECKSUM_MISMATCH: [409, 'the page has other content', 'Read it, and make the change again'],
  NODE_NOT_FOUND: [409, 'the page has no such node', 'Read it, and make the change again'],
  PAGE_NOT_FOUND: [409, 'there is no such page', 'Read the tree again'],
  MANUAL_NOT_FOUND: [409, 'there is no such manual', 'List the manuals again'],
  PARENT_NOT_FOUND: [409, 'the page above does not exist', 'Read the tree again'],
  PAGE_ARCHIVED: [409, 'the page is archived', 'Restore it first'],
  DEPTH_EXCEEDED: [409, 'the pages are nested too deeply', 'Move the page up'],
  TREE_CYCLE: [409, 'a page would be below itself', 'Choose another place'],
  DUPLICATE_CLIENT_KEY: [409, 'two new pages have the same key', 'Give each its own key'],
  AUDIENCE_INVALID: [409, 'there is no such audience here', 'Take one of the capabilities'],
  ASSET_NOT_READY: [409, 'the asset is not ready', 'Try later'],
  SCHEMA_INVALID: [409, 'the content does not fit the schema', 'Compare it with the capabilities'],
  REPLACE_NOT_CONFIRMED: [409, 'a whole page is replaced only if that is confirmed', 'Set confirmReplace'],
} as const satisfies Catalogue;

export const refusals = { ...ofRequests, ...ofAttachments, ...ofIdentity, ...ofChangesets };
export type Reason = keyof typeof refusals;

export const attachmentReasons = Object.keys(ofAttachments) as (keyof typeof ofAttachments)[];
export const conflictCodes = Object.keys(ofChangesets) as (keyof typeof ofChangesets)[];
