import { createHash } from 'node:crypto';
import { AppError } from '../domain/errors.ts';

/**
 * The same bytes, with their length and hash checked against the headers of the answer (spec: part B section 4.2). They are
 * good only if the generator ends without an error.
 *
 * @throws AppError `unavailable` for another length, `invalid` for another hash, or if the headers name none
 */
export async function* checkFile(
  bytes: AsyncIterable<Uint8Array>,
  headers: () => Headers,
  purpose: string,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let length = 0;
  for await (const chunk of bytes) {
    hash.update(chunk);
    length += chunk.length;
    yield chunk;
  }
  const refuse = (code: 'unavailable' | 'invalid', why: string) => new AppError(code, `Could not ${purpose}: ${why}`);
  const [size, sha256] = ['Byte-Size', 'Sha256'].map((name) => serviceHeader(headers(), name));
  if (size == null || sha256 == null) throw refuse('invalid', 'the answer does not name its length and hash');
  if (Number(size) !== length) throw refuse('unavailable', `${length} bytes came instead of ${Number(size)}`);
  if (sha256.toLowerCase() !== hash.digest('hex')) throw refuse('invalid', 'the bytes do not have the named hash');
}

/** The specification writes `X-Service-`, and the marketplace sends `X-OpenTrain-`. */
function serviceHeader(headers: Headers, name: string): string | null {
  return headers.get(`X-OpenTrain-${name}`) ?? headers.get(`X-Service-${name}`);
}
