import fc from 'fast-check';

const [firstSurrogate, surrogates] = [0xd800, 0x800];
const characterUpTo = (last: number) =>
  fc
    .integer({ min: 0, max: last <= firstSurrogate ? last : last - surrogates })
    .map((code) => String.fromCodePoint(code < firstSurrogate ? code : code + surrogates));

/** As the unit `binary` of fast-check, which takes two seconds of each process to prepare. */
const character = fc.oneof(characterUpTo(0x7f), characterUpTo(0xffff), characterUpTo(0x10ffff));

/** Text of any characters but halves of surrogate pairs. */
export function anyText(constraints: Omit<fc.StringConstraints, 'unit'> = {}): fc.Arbitrary<string> {
  return fc.string({ ...constraints, unit: character });
}
