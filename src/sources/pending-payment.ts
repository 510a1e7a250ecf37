/** A payment that waits for a person at the marketplace. */
export interface PendingPayment {
  /** The id of its invoice. */
  id: string;
  invoiceNumber: number | null;
  amountUsd: number | null;
  createdAt: string | null;
  /** Null if it is on no job, or if the marketplace does not say. */
  jobId: string | null;
  /** Where a person settles it: http or https. The site of the marketplace if it names no other address. */
  url: string;
}
