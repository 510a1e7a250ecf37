import { globSync, readFileSync } from 'node:fs';
import { Histogram } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../src/lib/metrics.ts';
import { alertKinds } from '../../src/lib/troubles.ts';
import { anchorsOf } from '../docs/markdown.ts';

/** What `deploy/` names is held against what there is. Prometheus itself says nothing about a name that is wrong. */

interface Rule {
  name: string;
  expr: string;
  for: string;
  severity: string;
  /** With templates such as `{{ $labels.kind }}`. */
  summary: string;
  runbook: string;
}

interface Panel {
  id: number;
  type: string;
  datasource?: { uid: string };
  targets?: { expr: string; legendFormat?: string }[];
}

interface Dashboard {
  panels: Panel[];
  templating: { list: { type: string; query: unknown }[] };
}

const { registry } = createMetrics();
const rules = readRules(readFileSync('deploy/prometheus/gangway.rules.yml', 'utf8'));
const ruleTests = readFileSync('deploy/prometheus/gangway.rules.test.yml', 'utf8');
const dashboard = JSON.parse(readFileSync('deploy/grafana/gangway.json', 'utf8')) as Dashboard;
const panels = dashboard.panels.filter(({ type }) => type !== 'row');

const queries = [
  ...rules.map(({ expr, summary, runbook }) => ({ expr, template: `${summary} ${runbook}` })),
  ...panels.flatMap(({ targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({ expr, template: legendFormat ?? '' })),
  ),
];

describe('the rules and the dashboard', () => {
  it('are found', () => {
    expect(rules.length).toBeGreaterThan(15);
    expect(panels.length).toBeGreaterThan(15);
    for (const rule of rules) expect(Object.values(rule), rule.name).not.toContain('');
  });

  it.each(queries)('name metrics and labels that exist: $expr', ({ expr, template }) => {
    const { metrics, grouping } = parseQuery(expr);
    expect(metrics).not.toEqual([]);
    expect(metrics.filter(({ name }) => labelsOf(name) === undefined)).toEqual([]);
    const strange = metrics.flatMap(({ name, labels }) => labels.filter((label) => !labelsOf(name)?.includes(label)));
    expect(strange).toEqual([]);
    const known = metrics.flatMap(({ name }) => labelsOf(name) ?? []);
    expect(grouping.filter((label) => !known.includes(label))).toEqual([]);
    // What is not grouped by is lost, and would be shown as nothing.
    const left = grouping.length > 0 ? grouping : known;
    const shown = [...template.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)].map(([, label = '']) => label);
    expect(shown.filter((label) => !left.includes(label))).toEqual([]);
  });

  it('match values that the source knows', () => {
    const source = globSync('src/**/*.ts').map((file) => readFileSync(file, 'utf8'));
    const isKnown = (value: string) => source.some((code) => code.includes(`'${value}'`));
    const values = queries.flatMap(({ expr }) => valuesIn(expr));
    expect(values).toContain('held');
    expect(values.filter((value) => !isKnown(value))).toEqual([]);
  });
});

describe('the rules', () => {
  const runbooks = rules.flatMap(({ runbook }) =>
    runbook.includes('{{ $labels.kind }}')
      ? alertKinds.map((kind) => runbook.replace('{{ $labels.kind }}', kind))
      : [runbook],
  );

  it('lead to anchors of docs/operating.md that exist', () => {
    const anchors = anchorsOf('docs/operating.md').map((anchor) => `docs/operating.md#${anchor}`);
    expect(runbooks.filter((runbook) => !anchors.includes(runbook))).toEqual([]);
  });

  const quantiles = rules.flatMap(({ name, expr }) => {
    const [, metric = '', limit] = /^histogram_quantile.+ \(rate\((\w+)_bucket\b.+ > (\d+)$/.exec(expr) ?? [];
    return limit === undefined ? [] : [{ name, metric, limit: Number(limit) }];
  });

  it.each(quantiles)('have a bucket beyond the limit of $name, else no quantile could be more', ({ metric, limit }) => {
    // The package does not declare that it shows them.
    const { upperBounds } = registry.getSingleMetric(metric) as unknown as { upperBounds: number[] };
    expect(Math.max(...upperBounds)).toBeGreaterThan(limit);
  });

  it('have a severity, by kinds of alerts that exist', () => {
    const urgent = rules.flatMap(({ severity }) => /match "\^\((.+)\)\$"/.exec(severity)?.[1]?.split('|') ?? []);
    expect(urgent).not.toEqual([]);
    expect(urgent.filter((kind) => !alertKinds.some((known) => known === kind))).toEqual([]);
    const others = rules.filter(({ severity }) => !severity.startsWith('{{')).map(({ severity }) => severity);
    expect(new Set(others)).toEqual(new Set(['critical', 'warning']));
  });

  it.each(rules)('have a test in which $name is silent and one in which it fires', ({ name }) => {
    expect(ruleTests).toMatch(new RegExp(`alertname: ${name}, eval_time: \\w+, exp_alerts: \\[\\] `));
    expect(ruleTests).toMatch(new RegExp(`alertname: ${name}\\n +eval_time: \\w+\\n +exp_alerts:`));
  });
});

describe('the dashboard', () => {
  const jobs = 'label_values(gangway_instances, job)';

  it('asks for its data source and has none of its own', () => {
    const [source, job, ...others] = dashboard.templating.list;
    expect(labelsOf('gangway_instances')).toContain('job');
    expect([source?.type, job?.query, others]).toEqual(['datasource', { query: jobs, refId: 'job' }, []]);
    for (const { id, datasource } of panels) expect(datasource?.uid, `panel ${id}`).toMatch(/^\$\{datasource\}$/);
  });

  it('has each panel once', () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

/** @returns `''` for what a rule lacks */
function readRules(text: string): Rule[] {
  const blocks = text.split(/^ {6}- alert: /m).slice(1);
  return blocks.map((block) => {
    const find = (key: string) =>
      new RegExp(`^ +${key}: (?:>-\\n)?((?:.+\\n)(?: {10,}.+\\n)*)`, 'm').exec(block)?.[1] ?? '';
    return {
      name: block.split('\n')[0] ?? '',
      expr: find('expr').trim(),
      for: find('for').trim(),
      severity: find('severity').trim(),
      summary: find('summary').split('\n')[0] ?? '',
      runbook: find('runbook').split('\n')[0] ?? '',
    };
  });
}

/** @returns the metrics of an expression, each with the labels that are matched, and what it is grouped by */
function parseQuery(expr: string): { metrics: { name: string; labels: string[] }[]; grouping: string[] } {
  const grouped = /\b(?:by|on) ?\(([^)]*)\)/g;
  const grouping = [...expr.matchAll(grouped)].flatMap(([, labels = '']) => labels.split(', '));
  const rest = expr.replaceAll(/"[^"]*"|\[[^\]]*\]/g, '').replaceAll(grouped, '');
  const words = rest.matchAll(/\b([a-z_]\w*)\b(?:\{([^}]*)\})?(?! *\()/g);
  const metrics = [...words].map(([, name = '', matchers = '']) => ({ name, labels: matchers.match(/\w+/g) ?? [] }));
  return { metrics: metrics.filter(({ name }) => !['and', 'or', 'unless', 'offset'].includes(name)), grouping };
}

/** The values that labels are compared with, without those that Prometheus and Grafana give. */
function valuesIn(expr: string): string[] {
  const matchers = [...expr.matchAll(/(\w+)[=!]~?"([^"]*)"/g)].filter(([, label]) => label !== 'job');
  return matchers.flatMap(([, , values = '']) => values.split('|')).filter((value) => value !== '');
}

/** With the labels that Prometheus gives to all that it scrapes; undefined for what does not exist. */
function labelsOf(name: string): string[] | undefined {
  const given = ['job', 'instance'];
  if (name === 'up') return given;
  const base = name.replace(/_(bucket|sum|count)$/, '');
  const histogram = registry.getSingleMetric(base);
  const isSeries = base !== name && histogram instanceof Histogram;
  const metric = isSeries ? histogram : registry.getSingleMetric(name);
  // A histogram has no series of its own name.
  if (metric === undefined || (metric instanceof Histogram && !isSeries)) return undefined;
  // The package does not declare that it shows them.
  const { labelNames } = metric as unknown as { labelNames: string[] };
  return [...given, ...labelNames, ...(name.endsWith('_bucket') ? ['le'] : [])];
}
