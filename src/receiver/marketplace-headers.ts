import type { IncomingHttpHeaders } from 'node:http';

const maxValueLength = 500;

/** The marketplace's own headers, by each of the configured prefixes. @param prefixes such as `X-OpenTrain-` */
export function createMarketplaceHeaders(prefixes: readonly string[]) {
  const named = (name: string) => prefixes.map((prefix) => `${prefix}${name}`.toLowerCase());
  const signatures = named('Signature');
  const deliveries = named('Delivery');
  const events = named('Event');
  return {
    /** In lower case, as in Node. */
    names: [...signatures, ...deliveries, ...events, 'user-agent', 'content-type'],
    /** The different values of the signature headers: a sender may send the same one under each prefix. */
    signaturesOf: (headers: IncomingHttpHeaders) => [...new Set(signatures.flatMap((name) => headers[name] ?? []))],
    deliveryIdOf(headers: IncomingHttpHeaders): string | null {
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
