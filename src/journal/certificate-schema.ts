import { z } from 'zod';

/** The lines of an access certificate that are read before what follows from them is compared. */
const instant = z.iso.datetime();
const hash = z.string().regex(/^[\da-f]{64}$/);

export const CertificateLine = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('certificate'),
    format: z.literal(1),
    from: instant,
    to: instant,
    madeAt: instant,
    madeBy: z.string(),
  }),
  z.object({
    type: z.literal('row'),
    seq: z.int().positive(),
    at: z.string(),
    subject: z.string(),
    key: z.string(),
    fact: z.string().nullable(),
    hash,
  }),
  z.object({
    type: z.literal('end'),
    rows: z.int().nonnegative(),
    digest: hash,
    publicKey: z.base64(),
    signature: z.base64(),
  }),
  ...(['install', 'access', 'act'] as const).map((type) => z.object({ type: z.literal(type) })),
]);

export type CertificateLine = z.infer<typeof CertificateLine>;
