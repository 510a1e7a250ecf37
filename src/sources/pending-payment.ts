/** A payment that waits for a person at the marketplace. */
export interface PendingPayment {
  /** Of its invoice. */
  id: string;
  invoiceNumber: number | null;
  amountUsd: number | null;
  createdAt: string | null;
  /** Null if it is on no job, or if that is not said. */
  jobId: string | null;
  /** Where a person sees to it: http or https. The site of the marketplace if nothing nearer is said. */
  url: string;
}
