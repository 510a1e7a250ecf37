/** One request of the marketplace as it was stored, and what became of it. */

/**
 * `pending`: not looked at yet, or to be looked at again. `handled`: its evidence is merged.
 * `ignored`: a type that nothing uses, whose body is not kept. `unprocessable`: signed, but not an
 * event this version can read. `failed`: looking at it went wrong too often, or not all of it could
 * be taken in; it waits for a repeat or for `replay`.
 */
export const deliveryStates = ['pending', 'handled', 'ignored', 'unprocessable', 'failed'] as const;

export type DeliveryState = (typeof deliveryStates)[number];

export interface NewDelivery {
  install: string;
  /** The request's body, byte for byte. */
  body: Uint8Array;
  /** The few headers worth keeping, capped, as JSON. */
  headers: string;
  /** The sender's id for the delivery; unsigned, so a hint and never a key. */
  deliveryId: string | null;
  receivedAt: string;
}

/** A delivery that is stored now, or was before. */
export interface Appended {
  /** What the marketplace is answered (design section 3). */
  status: 'accepted' | 'duplicate' | 'ignored' | 'unprocessable';
  /** Whether its delivery id was known with another body. */
  isIdReused: boolean;
}

/** What a stored delivery takes beside its body and headers, about. */
export const rowOverheadBytes = 512;
