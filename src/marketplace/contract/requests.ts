import { z } from 'zod';

/** The values in requests. They are checked before they are sent. */

export const id = z.string().min(1).max(200);
export const name = z.string().min(1).max(300);
export const title = z.string().min(1).max(500);
export const note = z.string().max(2000).optional();
export const instant = z.iso.datetime({ offset: true });

export const maxUrlChars = 2048;
export const webUrl = z.url({ protocol: /^https?$/ }).max(maxUrlChars);

/** https, or http for localhost. */
export const deliverable = z
  .string()
  .max(maxUrlChars)
  .refine(isDeliverable, { error: 'must be https, or http for localhost' });

function isDeliverable(text: string): boolean {
  const { protocol, hostname } = URL.parse(text) ?? {};
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname ?? '');
  return protocol === 'https:' || (protocol === 'http:' && isLocal);
}

/** How a list is continued, with the largest page that the specification names. */
export function paging(most = 100) {
  return {
    cursor: z.string().optional().describe('The nextCursor of the page before.'),
    limit: z.int().min(1).max(most).optional().describe(`At most ${most} records.`),
  };
}
