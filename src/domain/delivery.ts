/**
 * The states of a stored request of the marketplace. `pending`: to be handled (again). `handled`: its evidence is merged.
 * `ignored`: nothing uses its type, and its body is not kept. `unprocessable`: signed, but this version cannot read it as an
 * event. `failed`: handling failed too often, or some of its evidence is held. It waits for a repeat or for `replay`.
 */
export const deliveryStates = ['pending', 'handled', 'ignored', 'unprocessable', 'failed'] as const;

export type DeliveryState = (typeof deliveryStates)[number];

export interface NewDelivery {
  install: string;
  /** The request's body, byte for byte. */
  body: Uint8Array;
  /** A few headers, cut to a maximum, as JSON. */
  headers: string;
  /** The sender's id of the delivery. It is not signed, so it is a hint and never a key. */
  deliveryId: string | null;
  receivedAt: string;
}

export interface Appended {
  /** The answer to the marketplace. */
  status: 'accepted' | 'duplicate' | 'ignored' | 'unprocessable';
}

/** The largest body of a delivery. */
export const maxBodyBytes = 256 * 1024;

/** About the size of a stored delivery without its body and headers. */
export const rowOverheadBytes = 512;
