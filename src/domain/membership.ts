/** A trainer in a group of a tool: who is wanted there, and what is known of the tool's side. */

export type MembershipState =
  | 'waiting_email'
  | 'pending'
  | 'active'
  | 'removing'
  | 'removed'
  | 'released'
  | 'failed';

export type Operation = 'add' | 'remove';

/**
 * `added` and `removed` were done and read back; `already_member` and `already_absent` were so
 * before; `released` is a member who was there before us and stays; `failed` may succeed later;
 * `refused` waits for somebody to change something.
 */
export type ReceiptOutcome =
  | 'added'
  | 'already_member'
  | 'removed'
  | 'already_absent'
  | 'released'
  | 'failed'
  | 'refused';
