import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'rolldown/utils';

/** What each file, or each folder, imports. */
export type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>;

/** The path of each imported file from the root, and the specifier of each imported package. */
export function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const { staticImports, staticExports } = parseSync(file, text).module;
  const specifiers = [
    ...staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...staticExports.flatMap(({ entries }) => entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? [])),
    // The parser's lists lack imports inside types.
    ...[...text.matchAll(/\bimport\(\s*'([^']+)'/g)].map(([, name = '']) => name),
  ];
  return specifiers.map((name) => (name.startsWith('.') ? path.join(path.dirname(file), name) : name));
}

export function importGraph(files: readonly string[]): ImportGraph {
  const known = new Set(files);
  return new Map(files.map((file) => [file, new Set(importsOf(file).filter((target) => known.has(target)))]));
}

/** The same imports between groups of files. Imports inside a group are left out. */
export function groupImports(graph: ImportGraph, groupOf: (file: string) => string): ImportGraph {
  const groups = new Map<string, Set<string>>();
  for (const [file, targets] of graph) {
    const group = groupOf(file);
    const others = [...targets].map(groupOf).filter((target) => target !== group);
    groups.set(group, new Set([...(groups.get(group) ?? []), ...others]));
  }
  return groups;
}

/**
 * The height of a node is the length of the longest chain of imports that starts there, the node included. Each circle
 * is listed in the order of its imports. The import that closes a circle does not count towards a height.
 */
export function measureGraph(graph: ImportGraph): { heights: Map<string, number>; circles: string[][] } {
  const heights = new Map<string, number>();
  const circles: string[][] = [];
  function heightOf(node: string, chain: readonly string[]): number {
    if (chain.includes(node)) {
      circles.push(chain.slice(chain.indexOf(node)));
      return 0;
    }
    const targets = [...(graph.get(node) ?? [])];
    const height = heights.get(node) ?? 1 + Math.max(0, ...targets.map((target) => heightOf(target, [...chain, node])));
    heights.set(node, height);
    return height;
  }
  for (const node of graph.keys()) heightOf(node, []);
  return { heights, circles };
}
