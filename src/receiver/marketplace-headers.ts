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

/** Some two megabytes; more than a day of most installs. */
const usualSize = 10_000;

/**
 * The ids of the latest deliveries. They are not signed, so nothing is decided by them: they are only counted.
 *
 * In memory, as an index of them costs more than all else about a delivery: they are random, so in a large inbox each
 * lies in a page of its own. It remembers at least the last `size`, and less than twice as many: to forget one by one
 * would cost more with each.
 */
export function createRecentIds(size = usualSize) {
  let older = new Set<string>();
  let latest = new Set<string>();
  return {
    /** Whether the install has sent a delivery with this id; from now on it has. */
    meet(install: string, deliveryId: string): boolean {
      const id = `${install}/${deliveryId}`;
      if (latest.has(id) || older.has(id)) return true;
      if (latest.size >= size) [older, latest] = [latest, new Set()];
      latest.add(id);
      return false;
    },
  };
}
