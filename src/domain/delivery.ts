/** One request of the marketplace as it was stored, and what became of it. */

/**
 * `pending`: not handled yet, or to be handled again. `handled`: its evidence is merged. `ignored`: a type that nothing
 * uses; the body is not kept. `unprocessable`: signed, but this version cannot read it as an event. `failed`: handling
 * failed too often, or some of its evidence is held; it waits for a repeat or for `replay`.
 */
export const deliveryStates = ['pending', 'handled', 'ignored', 'unprocessable', 'failed'] as const;

export type DeliveryState = (typeof deliveryStates)[number];

export interface NewDelivery {
  install: string;
  /** The request's body, byte for byte. */
  body: Uint8Array;
  /** The few headers worth keeping, capped, as JSON. */
  headers: string;
  /** The sender's id for the delivery. It is not signed, so it is a hint and never a key. */
  deliveryId: string | null;
  receivedAt: string;
}

/** The result of storing a delivery, which may have been stored before. */
export interface Appended {
  /** What the marketplace gets as answer. */
  status: 'accepted' | 'duplicate' | 'ignored' | 'unprocessable';
}

/** The largest body of a delivery. */
export const maxBodyBytes = 256 * 1024;

/** The approximate size of a stored delivery beside its body and headers. */
export const rowOverheadBytes = 512;
