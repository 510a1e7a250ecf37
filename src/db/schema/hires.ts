import type { ApprovalKind, StoredApprovalStatus } from '../../domain/approval.ts';
import { instant, sealed, table, text } from '../columns.ts';
import { claimContext } from '../seal-contexts.ts';

export const hires = {
  /** A job that was drafted from here. */
  posting: table(['install', 'draftKey'], {
    install: text(),
    /** Follows from the text and the project, so that a repeat makes no second draft. */
    draftKey: text(),
    project: text(),
    title: text(),
    draftedAt: instant(),
    jobId: text(),
    /** The fields that are missing, as JSON. */
    missing: text(),
    /** When it was published and linked to the project. */
    publishedAt: instant().nullable(),
    jobUrl: text().nullable(),
  }),

  /** What a person must confirm at the marketplace. */
  approval: table(['install', 'kind', 'subject'], {
    install: text(),
    kind: text<ApprovalKind>(),
    /** The id of the proposal, the milestone or the contract. */
    subject: text(),
    jobId: text().nullable(),
    contractId: text().nullable(),
    askedAt: instant(),
    status: text<StoredApprovalStatus>(),
    approvalId: text().nullable(),
    /** Where a person confirms it; null once nobody can. */
    url: text().nullable(),
    expiresAt: instant('kept').nullable(),
    decidedAt: instant('kept').nullable(),
  }),

  /** An account that Gangway registered and that nobody has claimed yet. */
  claim: table(['install'], {
    install: text(),
    /** JSON of its tokens. */
    secrets: sealed(claimContext),
    expiresAt: instant('kept'),
    /** Where a person claims it; null until the claim was started. */
    url: text().nullable(),
  }),
};
