/** What only a person can do at the marketplace, because it moves money (spec: part A section 2.6). */
export const approvalKinds = ['proposal_hire', 'milestone_fund', 'milestone_approve', 'contract_end'] as const;
export type ApprovalKind = (typeof approvalKinds)[number];

/** `asked`: the request was sent, and its answer is not known. */
export const approvalStatuses = ['asked', 'pending', 'confirmed', 'declined', 'expired'] as const;
export type StoredApprovalStatus = (typeof approvalStatuses)[number];

/** Longer than an approval lives, which is about 72 hours: a request whose answer was lost can no longer be confirmed. */
export const forgottenAfterMs = 96 * 3_600_000;
