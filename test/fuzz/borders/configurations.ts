import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inspect } from 'node:util';
import type { Environment } from '../../../src/config/document.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { findParent } from '../../support/find-parent.ts';
import type { Mutator } from '../mutator.ts';
import type { Opened, Target } from '../target.ts';

const example = JSON.parse(readFileSync('config.example.json', 'utf8')) as Record<string, unknown>;

/** A text in every secret. */
const mark = 'hunter2';

const secrets: Environment = {
  GANGWAY_CONSOLE_TOKEN: `${mark}-console-token-x`,
  ADA_CONSOLE_TOKEN: `${mark}-token-of-ada-xx`,
  ACME_TOKEN: `ot_ptk_${mark}-acme`,
  ACME_WEBHOOK_SECRET: `whsec_${mark}-acme-secret`,
  LABEL_STUDIO_TOKEN: `${mark}-label-studio`,
  GANGWAY_SMTP_URL: `smtps://gangway:${mark}@mail.example.com`,
  GANGWAY_BILLING_SECRET: `whsec_${Buffer.alloc(32, mark).toString('base64')}`,
  GANGWAY_SLACK_URL: `https://hooks.slack.example/${mark}`,
};

/** One install and one tool, configured by variables alone. */
const variables: Environment = {
  GANGWAY_TOKEN: `ot_ptk_${mark}-acme`,
  GANGWAY_WEBHOOK_SECRET: `whsec_${mark}-acme-secret`,
  GANGWAY_TOOL_ADAPTER: 'label-studio',
  GANGWAY_TOOL_URL: 'http://localhost:8080',
  GANGWAY_TOOL_TOKEN: `${mark}-label-studio`,
  GANGWAY_SECRET_KEY: Buffer.alloc(32, mark).toString('base64'),
  GANGWAY_DATABASE_URL: `postgres://gangway:${mark}@db.example.com/gangway`,
};

export const configurations: Target = {
  name: 'configurations',
  inputs: { long: 10_000, short: 100 },
  reaches: ['file: loaded', 'file: refused', 'variables: loaded', 'variables: refused'],
  open,
};

function open(): Opened {
  const folder = mkdtempSync(path.join(findParent(), 'gangway-'));
  const file = path.join(folder, 'gangway.config.json');

  function fromFile(chance: Mutator): string {
    const bytes = chance.json(chance.oneIn(3) ? withLiterals(example) : example);
    writeFileSync(file, chance.oneIn(100) ? '['.repeat(chance.below(200_000)) : bytes);
    const env = chance.oneIn(4) ? changeOne(chance, secrets) : secrets;
    return `file: ${attempt({ path: file, env, cwd: folder })}`;
  }

  function fromVariables(chance: Mutator): string {
    rmSync(file, { force: true });
    return `variables: ${attempt({ env: chance.oneIn(8) ? variables : changeOne(chance, variables), cwd: folder })}`;
  }

  return {
    judge: (chance) => (chance.oneIn(4) ? fromVariables : fromFile)(chance),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function attempt(query: Parameters<typeof loadConfig>[0]): string {
  try {
    const { config, warnings } = loadConfig(query);
    assert.ok(config.tools instanceof Map && config.installs instanceof Map);
    for (const warning of warnings) assert.ok(!warning.includes(mark), warning);
    return 'loaded';
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === 'invalid', inspect(error));
    assert.ok(!error.message.includes(mark), error.message);
    return 'refused';
  }
}

/** The configuration with its secrets written into the file. */
function withLiterals(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withLiterals);
  const { env } = value as { env?: string };
  if (typeof env === 'string') return secrets[env];
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withLiterals(inner)]));
}

/** Changes the value or the name of one variable. */
function changeOne(chance: Mutator, env: Environment): Environment {
  const name = chance.pick(Object.keys(env));
  const changes = [
    () => ({ ...env, [name]: chance.text(env[name] ?? '') }),
    () => ({ ...env, [name]: undefined }),
    () => ({ ...env, [chance.text(name)]: env[name] }),
    () => ({ ...env, [`${name}_FILE`]: chance.pick(['', '/', '.', '\0', 'gone', '/proc/self/mem']) }),
  ];
  return chance.pick(changes)();
}
