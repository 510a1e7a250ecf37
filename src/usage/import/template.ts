import { type ImportFormat, importColumns, type LineValues } from './entry.ts';

const examples: LineValues[] = [
  {
    workDate: '2026-03-14',
    contractId: 'cmc1a2b3c',
    opentrainUserId: 'cmu4d5e6f',
    totalSeconds: 13_500,
    tasksCompleted: 120,
    labelsCompleted: 480,
  },
  {
    workDate: '2026-03-15',
    externalProjectId: 'street-signs',
    workEmail: 'amara.o@opentrain.work',
    totalSeconds: 7200,
    tasksCompleted: 64,
  },
];

/** A file to start from: all columns and two lines, one by contract and one by project. */
export function toTemplate(format: ImportFormat): string {
  if (format === 'ndjson') return examples.map((example) => JSON.stringify(example)).join('\n');
  const lines = examples.map((example) => importColumns.map((column) => example[column] ?? ''));
  return [importColumns, ...lines].map((fields) => fields.join(',')).join('\n');
}
