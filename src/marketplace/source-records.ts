import type { AddressMissing } from '../domain/evidence.ts';
import type { Token } from './contract/account.ts';
import type { Payment } from './contract/contracts.ts';
import type { Answer } from './contract/operation.ts';
import type { installs, platformContracts } from './contract/platform.ts';

export type { UsageAnswer } from './contract/platform.ts';
export type { Endpoint } from './contract/records.ts';

// The records of the port. Those that the marketplace answers with are records of its contract.

export type Grant = Answer<typeof installs.current>['install'] & {
  /** Whether several installs may have this grant, each for other jobs of one account. */
  isShared?: boolean;
};

type ListedParticipant = Answer<typeof platformContracts.participants>['participants'][number];

/** A trainer on a contract. */
export type Participant = Pick<ListedParticipant, 'opentrainUserId' | 'displayName' | 'workEmail'> & {
  /** Why there is no address, if the source knows. */
  addressMissing?: AddressMissing;
};

/** A payment that a person must settle at the marketplace. Its id is that of its invoice. */
export interface PendingPayment extends Pick<Payment, 'id' | 'invoiceNumber' | 'amountUsd' | 'createdAt'> {
  /** Null if the payment is not for a job, or the marketplace does not say. */
  jobId: string | null;
  /** Where a person settles it (http or https); the marketplace's site if the marketplace names no page. */
  url: string;
}

/** An instruction manual as it was published for trainers. A publication never changes. */
export interface Publication {
  manualId: string;
  publicationNumber: number;
  /** In reading order: each before the pages below it. */
  pages: PublishedPage[];
}

export interface PublishedPage {
  title: string;
  /** 1 for a page at the top. */
  depth: number;
  /** The canonical JSON, not validated. */
  content: unknown;
}

/** A token of the account, without its secret. One without `expiresAt` never expires. */
export interface TokenRecord extends Pick<Token, 'id' | 'name' | 'scopes' | 'createdAt' | 'lastUsedAt' | 'expiresAt'> {
  status: 'active' | 'expired' | 'revoked';
}
