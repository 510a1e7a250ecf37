import type { IncomingHttpHeaders } from 'node:http';

/** The marketplace's own headers, by each of the configured prefixes. */
export interface MarketplaceHeaders {
  /** In lower case, as in Node. */
  readonly names: readonly string[];
  /** The different values of the signature headers: a sender may send the same one under each prefix. */
  signaturesOf(headers: IncomingHttpHeaders): string[];
  deliveryIdOf(headers: IncomingHttpHeaders): string | null;
}

const maxValueLength = 500;

/** @param prefixes such as `X-OpenTrain-` */
export function createMarketplaceHeaders(prefixes: readonly string[]): MarketplaceHeaders {
  const named = (name: string) => prefixes.map((prefix) => `${prefix}${name}`.toLowerCase());
  const signatures = named('Signature');
  const deliveries = named('Delivery');
  const events = named('Event');
  return {
    names: [...signatures, ...deliveries, ...events, 'user-agent', 'content-type'],
    signaturesOf: (headers) => [...new Set(signatures.flatMap((name) => headers[name] ?? []))],
    deliveryIdOf(headers) {
      const [id = ''] = deliveries.flatMap((name) => headers[name] ?? []);
      return id === '' ? null : id.slice(0, maxValueLength);
    },
  };
}

/** The few headers that are kept with a delivery, as JSON. No cookies, and nothing that proxies add. */
export function keepHeaders(headers: IncomingHttpHeaders, names: readonly string[]): string {
  const kept: Record<string, string> = {};
  for (const name of names) {
    const value = headers[name];
    if (typeof value === 'string') kept[name] = value.slice(0, maxValueLength);
  }
  return JSON.stringify(kept);
}
