import { DraftUpdate, type drafts, type MissingField } from '../../marketplace/contract/jobs.ts';
import type { Received } from '../../marketplace/contract/operation.ts';
import { Refusal } from '../error-response.ts';

/** What a draft needs before it is published, and how a text or another format becomes one (spec: part A section 2.3). */

type Field = keyof DraftUpdate;

export const draftFields = Object.keys(DraftUpdate.shape) as Field[];

/** The words that a field allows, if it is an enumeration. */
function wordsOf(field: Field): string[] | null {
  const wanted = DraftUpdate.shape[field].unwrap();
  return 'options' in wanted ? [...wanted.options] : null;
}

const enums = draftFields.map((field) => [field, wordsOf(field)] as const).filter(([, words]) => words !== null);
export const draftEnums = Object.fromEntries(enums);

const priceOf = { PAY_PER_HOUR: 'pricePerHour', PAY_PER_LABEL: 'pricePerLabel', FIXED_PRICE: 'fixedPrice' } as const;

const required = {
  jobTitle: 'What is the job called?',
  jobDescription: 'What is to be done?',
  experienceLevel: 'How experienced must an AI trainer be?',
  labelTypes: 'Which types of labels are to be made?',
  paymentType: 'How is the work paid?',
};

/** Which fields are needed is assumed; the price depends on how the job is paid. */
export function validate(fields: DraftUpdate) {
  const price = fields.paymentType && { [priceOf[fields.paymentType]]: 'How many US dollars are paid?' };
  const prompts = Object.entries({ ...required, ...price }) as [Field, string][];
  const missingFields = prompts
    .filter(([field]) => isEmpty(fields[field]))
    .map(([field, ask]) => toMissing(field, ask));
  const count = missingFields.length;
  return { publishReady: count === 0, issueCount: count, missingFieldCount: count, missingFields, issues: [] };
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
}

function toMissing(field: Field, prompt: string): MissingField {
  const { type } = DraftUpdate.shape[field].unwrap();
  const label = field.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return {
    field,
    label,
    message: `A job cannot be published without its ${label}`,
    code: 'required',
    prompt,
    type: type === 'array' ? 'string[]' : type,
    enumValues: wordsOf(field),
    updateKeys: [field],
    example: null,
    hint: null,
  };
}

/** The fields of other formats that have another name in a draft. */
const otherNames = new Map<string, Field>(
  Object.entries({ title: 'jobTitle', description: 'jobDescription', tools: 'labelingSoftware' } as const),
);

/** What a request to create a draft says. @throws Refusal if it says nothing */
export function importDraft({ source, format = source?.type ?? 'text', ...request }: Received<typeof drafts.create>) {
  const { job, jsonLd, xml, rawJobDescription } = request;
  const given = readSource(format, job ?? jsonLd ?? xml ?? rawJobDescription ?? source?.text);
  const read = Object.entries(given).map(([path, value]) => readField(path, value, given));
  if (read.length === 0) throw new Refusal('invalid', 'The request has no job', { field: 'rawJobDescription' });
  return {
    format,
    fields: DraftUpdate.parse(Object.assign({}, ...read.map(({ fields }) => fields))),
    unmappedFields: read.flatMap(({ unmapped = [] }) => unmapped),
    lowConfidenceFields: format === 'text' ? [{ path: 'jobTitle', reason: 'The first line of the text' }] : [],
  };
}

function readField(path: string, value: unknown, given: Record<string, unknown>) {
  const field =
    path === 'rateAmount' ? toPrice(given) : (otherNames.get(path) ?? draftFields.find((one) => one === path));
  const read = field && DraftUpdate.shape[field].safeParse(path === 'tools' ? [value].flat().join(', ') : value);
  if (field && read?.success === true) return { fields: { [field]: read.data } };
  const reason = field === undefined ? 'A draft has no such field' : 'The value does not fit';
  return { unmapped: [{ path, reason, valuePreview: JSON.stringify(value).slice(0, 100) }] };
}

function toPrice({ paymentType }: Record<string, unknown>): Field | undefined {
  return Object.entries(priceOf).find(([type]) => type === paymentType)?.[1];
}

function readSource(format: string, given: unknown): Record<string, unknown> {
  if (typeof given !== 'string' || given === '') return Object(given ?? {});
  if (format === 'text') return { title: given.trim().split('\n', 1)[0]?.slice(0, 120), description: given };
  if (format.endsWith('_xml')) {
    const parts = given.replaceAll(/<!\[CDATA\[|\]\]>/g, '').split('<');
    const elements = parts.map((part) => part.split('>', 2)).filter(([, text = '']) => text.trim() !== '');
    return Object.fromEntries(elements);
  }
  try {
    return Object(JSON.parse(given));
  } catch {
    throw new Refusal('invalid', `The source is not the JSON of ${format}`, { field: 'source' });
  }
}
