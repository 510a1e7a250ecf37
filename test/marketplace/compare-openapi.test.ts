import { describe, expect, it, onTestFinished } from 'vitest';
import { compareOpenapi } from '../../src/marketplace/compare-openapi.ts';
import { OpenapiDocument } from '../../src/marketplace/contract/records.ts';
import { createPlatformSource } from '../../src/marketplace/platform/create-platform-source.ts';
import { ofPlatform } from '../../src/marketplace/relied-on.ts';
import type { Deviation } from '../../src/marketplace/source.ts';
import { describeApi } from '../../src/sandbox/openapi.ts';
import { platformRoutes } from '../../src/sandbox/platform-api.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { openSecondMarketplace } from '../support/second-marketplace/second-marketplace.ts';

// biome-ignore lint/suspicious/noExplicitAny: a served document may contain anything
type Any = any;

/** The sandbox's document, changed. */
function changed(change: (document: Any, schemas: Any) => void): Deviation[] {
  // Not `structuredClone`, which would keep shared parts shared.
  const document = withComponents(JSON.parse(described.replaceAll(/\{\w+Id\}/g, '{id}')) as Any);
  change(document, document.components.schemas);
  return compareOpenapi(OpenapiDocument.parse(document), ofPlatform);
}

const described = JSON.stringify(describeApi('', '/api/partner/v1', platformRoutes));

/** The same document, in which records are named and referred to, as other servers write it. */
function withComponents({ paths, ...document }: Any): Any {
  const answerOf = (path: string): Any => paths[path].get.responses[200].content['application/json'].schema;
  const named = Object.entries({
    Install: answerOf('/installs/current').properties.install,
    ProjectLink: answerOf('/project-links/{id}').properties.projectLink,
    Contract: answerOf('/contracts').properties.contracts.items,
    Participant: answerOf('/contracts/{id}/participants').properties.participants.items,
    Budget: answerOf('/contracts/{id}/budget'),
    WebhookEndpoint: answerOf('/webhook-endpoints/{id}').properties.webhookEndpoint,
  });
  const schemas = structuredClone(Object.fromEntries(named));
  const names = new Map(named.map(([name, schema]) => [JSON.stringify(schema), name]));
  const refer = (_: string, value: unknown) => {
    const name = names.get(JSON.stringify(value));
    return name === undefined ? value : { $ref: `#/components/schemas/${name}` };
  };
  return { ...document, paths: JSON.parse(JSON.stringify(paths, refer)), components: { schemas } };
}

function usageEntryOf(paths: Any): Any {
  const { requestBody } = paths['/contracts/{id}/usage'].post;
  return requestBody.content['application/json'].schema.properties.entries.items;
}

const failure = (where: string, says: string) => ({ where, says, isFailure: true });
const warning = (where: string, says: string) => ({ where, says, isFailure: false });

describe('a served contract that fits', () => {
  it('has no deviation', () => {
    const document = OpenapiDocument.parse(describeApi('', '/api/partner/v1', platformRoutes));
    expect(compareOpenapi(document, ofPlatform)).toEqual([]);
  });

  it('has none for additions', () => {
    const deviations = changed(({ paths }, { Contract, Install }) => {
      paths['/contracts/{id}'] = { get: {} };
      Contract.properties.rate = { type: 'number' };
      Contract.required.push('rate');
      Contract.properties.status.enum.push('paused');
      delete Install.properties.createdAt;
      paths['/contracts'].get.parameters.push({ name: 'jobId', in: 'query', schema: {} });
    });
    expect(deviations).toEqual([]);
  });

  it('has no deviation if the same is described in another way', () => {
    const deviations = changed((document, schemas) => {
      const { paths } = document;
      const { Contract, Participant, Budget, ProjectLink } = schemas;
      Contract.properties.status = { anyOf: [{ const: 'active' }, { const: 'ended' }, { type: 'null' }] };
      Contract.properties.title = { type: 'string', nullable: true };
      schemas.Base = { type: 'object', properties: { id: { type: ['integer', 'string'] } } };
      const { id: _, ...own } = Contract.properties;
      schemas.Contract = {
        allOf: [{ $ref: '#/components/schemas/Base' }, { ...Contract, properties: own }],
      };
      const { workEmail: __, ...masked } = Participant.properties;
      schemas.Participant = { oneOf: [Participant, { ...Participant, properties: masked }] };
      Budget.properties.fundedAmountUsd = { type: 'string' };
      ProjectLink.properties.parent = { $ref: '#/components/schemas/ProjectLink' };
      // A path with another placeholder, and a reference.
      document.components.pathItems = { one: paths['/project-links/{id}'] };
      delete paths['/project-links/{id}'];
      paths['/project-links/{linkId}/'] = { $ref: '#/components/pathItems/one' };
      const { get } = paths['/installs/current'];
      get.responses = {
        '2XX': {
          content: {
            'application/json; charset=utf-8': get.responses[200].content['application/json'],
          },
        },
      };
    });
    expect(deviations).toEqual([]);
  });

  it('has none if the paths contain their base', () => {
    const deviations = changed((document) => {
      const paths = Object.entries(document.paths);
      document.paths = Object.fromEntries(paths.map(([path, operations]) => [`/api/partner/v1${path}`, operations]));
    });
    expect(deviations).toEqual([]);
  });
});

describe('a served contract that says little', () => {
  it('warns of what is not described, without a failure', async () => {
    const market = await openSecondMarketplace({ clock: createFakeClock() });
    onTestFinished(() => market.stop());
    const api = createPlatformSource({ baseUrl: market.baseUrl, token: 'ot_ptk_none' });
    const deviations = await api.findDeviations(new AbortController().signal);
    expect(deviations.filter(({ isFailure }) => isFailure)).toEqual([]);
    expect(deviations).toContainEqual(warning('GET /contracts', 'it is not described'));
    expect(deviations).toContainEqual(warning('POST /webhook-endpoints: body', 'it is not described'));
    expect(deviations.map(({ where }) => where)).not.toContain('GET /contracts: query');
  });

  it('fails without operations', () => {
    const deviations = compareOpenapi({ paths: {} }, ofPlatform);
    expect(deviations).toHaveLength(15);
    expect(deviations).toContainEqual(
      failure('PATCH /webhook-endpoints/{endpointId}', 'this operation no longer exists'),
    );
  });

  it('may have references that lead nowhere, or to themselves', () => {
    const deviations = changed((_, schemas) => {
      schemas.Install = { $ref: '#/components/schemas/Install' };
      schemas.Contract = { allOf: [{ $ref: '#/components/schemas/Contract' }] };
      schemas.Budget = { $ref: 'https://elsewhere.example/budget.json' };
      schemas.ProjectLink = { $ref: '#/components/schemas/__proto__' };
      const some = Array.from({ length: 9 }, () => ({ type: 'object' }));
      schemas.WebhookEndpoint = { allOf: [{ anyOf: some }, { anyOf: some }] };
      schemas.Participant = true;
    });
    expect(deviations.filter(({ isFailure }) => isFailure)).toEqual([]);
    expect(deviations).toContainEqual(warning('GET /contracts: contracts[]', 'it is not described'));
    expect(deviations).toContainEqual(warning('GET /installs/current: install', 'it is not described'));
  });
});

describe('a served contract that was changed', () => {
  const gone = 'it is no longer there';
  const contracts = 'GET /contracts: contracts[]';

  it.each<[string, (document: Any, schemas: Any) => unknown, ReturnType<typeof failure>[]]>([
    [
      'an operation removed',
      ({ paths }) => delete paths['/contracts/{id}/participants'].get,
      [failure('GET /contracts/{contractId}/participants', 'this operation no longer exists')],
    ],
    [
      'a path moved',
      ({ paths }) => {
        paths['/agreements'] = paths['/contracts'];
        delete paths['/contracts'];
      },
      [failure('GET /contracts', 'this operation no longer exists')],
    ],
    [
      'a property removed',
      (_, { Participant }) => delete Participant.properties.workEmail,
      [failure('GET /contracts/{contractId}/participants: participants[].workEmail', gone)],
    ],
    [
      'a property renamed',
      (_, { Contract }) => {
        Contract.properties.linkIds = Contract.properties.projectLinkIds;
        delete Contract.properties.projectLinkIds;
      },
      [failure(`${contracts}.projectLinkIds`, gone)],
    ],
    [
      'a property removed that is only shown',
      (_, { Contract }) => delete Contract.properties.title,
      [warning(`${contracts}.title`, gone)],
    ],
    [
      'the list itself renamed',
      ({ paths }) => {
        const { schema } = paths['/contracts'].get.responses[200].content['application/json'];
        schema.properties = { items: schema.properties.contracts };
      },
      [failure('GET /contracts: contracts', gone)],
    ],
    [
      'a type changed',
      (_, { Install }) => {
        Install.properties.piiConsent = { type: 'string' };
      },
      [failure('GET /installs/current: install.piiConsent', 'it is string, no longer boolean')],
    ],
    [
      'a list that became a record',
      (_, { Contract }) => {
        Contract.properties.projectLinkIds = { type: 'object' };
      },
      [failure(`${contracts}.projectLinkIds`, 'it is object, no longer array')],
    ],
    [
      'a status renamed',
      (_, { Contract }) => {
        Contract.properties.status.enum = ['ACTIVE', 'ended'];
      },
      [failure(`${contracts}.status`, 'it no longer knows "active"')],
    ],
    [
      'a status renamed that may be null',
      (_, { Contract }) => {
        Contract.properties.status = { anyOf: [{ enum: ['ACTIVE', 'ended'] }, { type: 'null' }] };
      },
      [failure(`${contracts}.status`, 'it no longer knows "active"')],
    ],
    [
      'a word gone from a query',
      ({ paths }) => {
        paths['/contracts'].get.parameters[0].schema.enum = ['active'];
      },
      [failure('GET /contracts: query.status', 'it no longer knows "ended"')],
    ],
    [
      'a query parameter removed',
      ({ paths }) => paths['/contracts'].get.parameters.splice(1, 1),
      [failure('GET /contracts: query.projectLinkId', gone)],
    ],
    [
      'a query parameter that is required now',
      ({ paths }) => {
        paths['/installs/current'].get.parameters.push({ name: 'v', in: 'query', required: true });
      },
      [failure('GET /installs/current: query.v', 'it is required now, but not always sent')],
    ],
    [
      'a property that a request must have now',
      ({ paths }) => usageEntryOf(paths).required.push('externalReportId'),
      [
        failure(
          'POST /contracts/{contractId}/usage: body.entries[].externalReportId',
          'it is required now, but not always sent',
        ),
      ],
    ],
    [
      'a property that a request may no longer have',
      ({ paths }) => delete usageEntryOf(paths).properties.totalSeconds,
      [failure('POST /contracts/{contractId}/usage: body.entries[].totalSeconds', gone)],
    ],
    [
      'a body where there was none',
      ({ paths }) => {
        paths['/project-links/{id}'].delete.requestBody = { required: true, content: {} };
      },
      [failure('DELETE /project-links/{linkId}: body', 'it is required now, but Gangway sends none')],
    ],
    [
      'an event type gone',
      ({ paths }) => {
        const { post } = paths['/webhook-endpoints'];
        const { eventTypes } = post.requestBody.content['application/json'].schema.properties;
        eventTypes.items = { enum: eventTypes.items.enum.slice(1) };
      },
      [failure('POST /webhook-endpoints: body.eventTypes[]', 'it no longer knows "contract.started"')],
    ],
  ])('%s', (_name, change, expected) => {
    expect(changed((document, schemas) => void change(document, schemas))).toEqual(expected);
  });

  it('is reported for each operation that uses the same schema', () => {
    const deviations = changed((_, { WebhookEndpoint }) => delete WebhookEndpoint.properties.status);
    expect(deviations.map(({ where }) => where)).toEqual([
      'GET /webhook-endpoints: webhookEndpoints[].status',
      'POST /webhook-endpoints: webhookEndpoint.status',
      'GET /webhook-endpoints/{endpointId}: webhookEndpoint.status',
      'PATCH /webhook-endpoints/{endpointId}: webhookEndpoint.status',
    ]);
  });
});
