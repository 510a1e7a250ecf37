import { isUtf8 } from 'node:buffer';
import { stripBom } from './strip-bom.ts';

/** One line without its end; `fault` says why it cannot be read as text. */
export type Line = { number: number; text: string } | { number: number; fault: string };

const lineFeed = 0x0a;
const nothing = Buffer.alloc(0);

/**
 * Yields the lines of a text in UTF-8 as they arrive, numbered from 1. The lines that end in one chunk
 * come together, because that costs far less than one by one. The beginning of an unfinished line is
 * kept, but at most `maxLineBytes`. A byte order mark and carriage returns are left out.
 *
 * @throws what the chunks throw
 */
export async function* readLines(chunks: AsyncIterable<Buffer>, maxLineBytes: number): AsyncGenerator<Line[]> {
  const append = (begun: Buffer, more: Buffer) =>
    begun.length === 0
      ? more
      : // One byte too many shows that it is too long; what comes after that is not needed.
        Buffer.concat([begun, more.subarray(0, Math.max(0, maxLineBytes + 1 - begun.length))]);
  let number = 0;
  let begun: Buffer = nothing;
  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let from = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, from)) {
      number += 1;
      lines.push(toLine(number, append(begun, chunk.subarray(from, end)), maxLineBytes));
      begun = nothing;
      from = end + 1;
    }
    begun = append(begun, chunk.subarray(from));
    yield lines;
  }
  if (begun.length > 0) yield [toLine(number + 1, begun, maxLineBytes)];
}

function toLine(number: number, bytes: Buffer, maxLineBytes: number): Line {
  if (bytes.length > maxLineBytes) return { number, fault: `is longer than ${maxLineBytes} bytes` };
  if (!isUtf8(bytes)) return { number, fault: 'is no text in UTF-8' };
  const text = bytes.toString('utf8').replace(/\r$/, '');
  return { number, text: number === 1 ? stripBom(text) : text };
}
