import { expect, it } from 'vitest';
import { DraftUpdate, drafts, importFormats, jobs } from '../../src/marketplace/contract/jobs.ts';
import { openAccount, refusalIn } from './account-harness.ts';

/** What a draft needs, field by field. */
const answers: DraftUpdate = {
  jobTitle: 'Label signs',
  jobDescription: 'Draw a box around each sign.',
  experienceLevel: 'EXPERT',
  labelTypes: ['Bounding box'],
  paymentType: 'PAY_PER_LABEL',
  pricePerLabel: 0.2,
};

it('asks for each missing field until the draft can be published', async () => {
  const { ask } = await openAccount();
  const { body: made } = await ask(drafts.create, { rawJobDescription: 'Label signs\nDraw boxes.' });
  expect(made).toMatchObject({ ok: true, status: 'DRAFT', import: { format: 'text', autoPublished: false } });
  expect(made.normalizedFields).toEqual({ jobTitle: 'Label signs', jobDescription: 'Label signs\nDraw boxes.' });
  expect(made.lowConfidenceFields).toMatchObject([{ path: 'jobTitle' }]);
  expect(made.missingFields).toEqual(made.validation.missingFields);

  const asked: string[] = [];
  let { validation } = made;
  while (!validation.publishReady) {
    const [field] = validation.missingFields;
    expect(validation.issueCount).toBe(validation.missingFields.length);
    expect(field).toMatchObject({ prompt: expect.stringContaining('?'), updateKeys: [field.field], code: 'required' });
    asked.push(`${field.field}: ${field.type} ${field.enumValues?.length ?? ''}`.trim());
    const key = field.updateKeys[0] as keyof DraftUpdate;
    const { status, body } = await ask(drafts.update, { jobId: made.jobId, [key]: answers[key] });
    expect([status, body.status]).toEqual([200, 'DRAFT']);
    validation = body.validation;
  }
  expect(asked).toEqual([
    'experienceLevel: enum 4',
    'labelTypes: string[]',
    'paymentType: enum 3',
    'pricePerLabel: number',
  ]);
  const { body: mine } = await ask(jobs.mine);
  expect(mine.jobs[0]).toMatchObject({ id: made.jobId, status: 'DRAFT', paymentType: 'PAY_PER_LABEL' });
});

const canonical = {
  title: 'Signs',
  description: 'Boxes',
  paymentType: 'PAY_PER_HOUR',
  rateAmount: 12,
  tools: ['CVAT', 'Excel'],
  languages: ['en'],
  experienceLevel: 'BEST',
  office: 'Lisbon',
};
const xml = '<job><title>Signs</title><description><![CDATA[Boxes]]></description></job>';
const two = { jobTitle: 'Signs', jobDescription: 'Boxes' };

it.each([
  [{ source: { type: 'text', text: 'Signs' } }, { jobTitle: 'Signs', jobDescription: 'Signs' }, []],
  [
    { format: 'opentrain_canonical', job: canonical },
    { ...two, paymentType: 'PAY_PER_HOUR', pricePerHour: 12, labelingSoftware: 'CVAT, Excel', languages: ['en'] },
    ['experienceLevel', 'office'],
  ],
  [{ source: { type: 'opentrain_canonical', text: '{"title":"Signs","description":"Boxes"}' } }, two, []],
  [
    { format: 'schema_org_job_posting', jsonLd: { '@type': 'JobPosting', title: 'Signs' } },
    { jobTitle: 'Signs' },
    ['@type'],
  ],
  [{ format: 'indeed_xml', xml }, two, []],
  [{ format: 'hr_xml', xml }, two, []],
])('reads %j', async (request, fields, unmapped) => {
  const { ask } = await openAccount();
  const { body } = await ask(drafts.create, request);
  expect(body.normalizedFields).toEqual(fields);
  expect(body.unmappedFields.map(({ path }: { path: string }) => path)).toEqual(unmapped);
  expect(body.parser.parsedFields.toSorted()).toEqual(Object.keys(fields).sort());
});

it('answers the same draft for the same idempotencyKey, and another one without it', async () => {
  const { ask } = await openAccount();
  const create = async (more: object) =>
    (await ask(drafts.create, { rawJobDescription: 'Signs', ...more })).body.jobId as string;
  const first = await create({ idempotencyKey: 'one' });
  expect(await create({ source: { idempotencyKey: 'one' } })).toBe(first);
  const others = [await create({ idempotencyKey: 'two' }), await create({}), await create({})];
  expect(new Set([first, ...others]).size).toBe(4);
});

it.each([
  ['an empty body', {}, undefined],
  ['an empty text', { rawJobDescription: '' }, 'rawJobDescription'],
  ['nothing to import', { idempotencyKey: 'one' }, 'rawJobDescription'],
  ['too long a text', { rawJobDescription: 'x'.repeat(60_001) }, 'rawJobDescription'],
  ['too long a key', { rawJobDescription: 'x', externalId: 'x'.repeat(257) }, 'externalId'],
  ['a broken source', { source: { type: 'opentrain_canonical', text: '{' } }, 'source'],
])('refuses a draft with %s', async (_, request, field) => {
  const { ask } = await openAccount();
  const { status, body } = await ask(drafts.create, request);
  expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
  if (field !== undefined) expect(body.details).toMatchObject({ field });
});

it.each([{ format: 'pdf' }, { source: { type: 'pdf' } }])('refuses %j, and says the formats', async (request) => {
  const { ask } = await openAccount();
  const { status, body } = await ask(drafts.create, { rawJobDescription: 'x', ...request });
  expect([status, body.details.supportedFormats]).toEqual([400, importFormats]);
});

it('refuses unknown keys, wrong types, words that no enumeration has, and nothing', async () => {
  const { ask, sandbox, jobId: live } = await openAccount();
  const { jobId } = (await ask(drafts.create, { rawJobDescription: 'Signs' })).body;
  const change = async (fields: object, id = jobId) => await ask(drafts.update, { jobId: id, ...fields });
  const wrong = await change({ headcount: 'two', experienceLevel: 'expert' });
  expect(Object.keys(wrong.body.details.fieldErrors)).toEqual(['experienceLevel', 'headcount']);
  expect((await change({ colour: 'red' })).body.details.formErrors).toEqual([expect.stringContaining('colour')]);
  for (const { status } of [wrong, await change({}), await change({ colour: 'red' })]) expect(status).toBe(400);
  expect((await ask(drafts.update, { jobId }, { rawBody: '{' })).status).toBe(400);

  const foreign = sandbox.createJob({ accountId: sandbox.createAccount().accountId });
  expect((await change({ headcount: 1 }, foreign.id)).status).toBe(403);
  expect((await change({ headcount: 1 }, 'job_unknown')).status).toBe(404);
  expect((await change({ headcount: 1 }, live)).status).toBe(409);
});

it('needs the scope and the feature', async () => {
  const { ask, sandbox, accountId } = await openAccount({ featuresOff: ['public_api_job_drafting'] });
  const refused = await ask(drafts.create, { rawJobDescription: 'Signs' });
  expect([refused.status, refused.body.details]).toEqual([403, { featureKey: 'public_api_job_drafting' }]);
  sandbox.setAccount(accountId, { featuresOff: [] });
  expect((await ask(drafts.create, { rawJobDescription: 'Signs' })).status).toBe(200);
  const { token } = sandbox.createAccount({ scopes: ['jobs:read'] });
  const { body } = await ask(drafts.create, { rawJobDescription: 'Signs' }, { token });
  expect(body.details.requiredScopes).toEqual(['jobs:write']);
  expect(refusalIn(await ask(drafts.capabilities, {}, { token }))[0]).toBe(200);
});

it('says what a draft may have', async () => {
  const { ask } = await openAccount();
  const { draft } = (await ask(drafts.capabilities)).body;
  expect(draft.updateKeys).toEqual(Object.keys(DraftUpdate.shape));
  expect(Object.keys(draft.enums)).toEqual(['paymentType', 'experienceLevel', 'dataVolumeUnit']);
  expect(draft.enums.paymentType).toEqual(['PAY_PER_HOUR', 'PAY_PER_LABEL', 'FIXED_PRICE']);
});
