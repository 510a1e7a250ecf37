import { bystanders, colluders, honestTrainers, managed } from './cast.ts';

/** What forged events are made of. */

/** As many mail servers, and some tools, would take for the same address, and some that none does. */
function oddForms(address: string): string[] {
  const wide = String.fromCharCode(address.charCodeAt(0) + 0xfee0);
  return [
    address,
    address.toUpperCase(),
    address.replace(/^./, (first) => first.toUpperCase()),
    // In lower case it is a k.
    address.replace('k', '\u212a'),
    wide + address.slice(1),
    address.replace('a', 'a\u0301'),
    `\u200b${address}`,
    ` ${address}`,
  ];
}

const victims: readonly string[] = [
  ...bystanders.map(({ email }) => email),
  ...honestTrainers.map(({ email }) => email),
  managed.email,
];

export const ownTrainers: readonly string[] = Array.from({ length: 10 }, (_, n) => `usr-x${n}`);

/** Where the marketplace would have its mail go. */
export function homeOf(trainer: string): string {
  return `${trainer.replace(/[^a-z\d-]/gi, '').slice(0, 40) || 'unnamed'}@opentrain.work`;
}

export const addresses: readonly string[] = [
  ...victims.flatMap(oddForms),
  // As often as all victims together.
  ...Array.from({ length: 40 }, (_, n) => colluders[n % colluders.length] ?? ''),
];

/** Beyond those of other people, and of the tool's accounts, which are known only then. */
export const oddTrainers: readonly string[] = [
  '1',
  '2',
  'invited:usr-h1',
  'USR-H1',
  ' usr-h1',
  'usr-h1\u200b',
  '../usr-h1',
  '__proto__',
  'b-1/usr-h1',
  'deleted-2-user',
  'constructor',
  'x'.repeat(200),
  'operator',
  'admin',
];

/** The walls' edges; some servers and tools take each for `b-1`. */
export const edgeProjects: readonly string[] = [
  'b-1',
  'a-/../b-1',
  'a-/../../groups/b-1',
  'a-1/../b-1',
  'a-\\..\\b-1',
  'a-%2e%2e',
  '..',
  'a-%2f..%2fb-1',
  'B-1',
  ' b-1',
  'b-1 ',
  'b-1\u200b',
  '\u200bb-1',
  '\uff42-1',
  'b\u20101',
  'b-1/',
  './b-1',
  'a-1?x=/b-1',
  'a-1#b-1',
  '__proto__',
  'staff',
  'annotators',
  'users',
];

export const names: readonly string[] = [
  'Amara O.',
  'Log in at https://evil.example/now',
  'evil.example',
  '<b>Admin</b>',
  '{link}',
  'Admin\u202e.moc',
  'a'.repeat(400),
  '\r\nBcc: colluder@evil.example',
  '=cmd()',
  '\u0000',
];
