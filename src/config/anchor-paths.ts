import path from 'node:path';
import type { Config, ToolConfig } from './config-schema.ts';

/** Makes the paths in a configuration absolute; relative ones are meant from `folder`. */
export function anchorPaths(config: Config, folder: string): Config {
  const tools = [...config.tools].map(([name, tool]) => [name, anchorTool(tool, folder)] as const);
  const url = anchorDatabase(config.database.url, folder);
  return { ...config, database: { url }, tools: new Map(tools) };
}

function anchorDatabase(url: string, folder: string): string {
  const file = /^sqlite:(?!:memory:$)(.+)$/.exec(url)?.[1];
  return file === undefined ? url : `sqlite:${path.resolve(folder, file)}`;
}

/** An adapter that is a file is named by a path; every other name is left to the package manager. */
function anchorTool(tool: ToolConfig, folder: string): ToolConfig {
  const { adapter, settings } = tool;
  return {
    ...tool,
    adapter: /^\.{1,2}\//.test(adapter) ? path.resolve(folder, adapter) : adapter,
    settings: settings.path === undefined ? settings : { ...settings, path: path.resolve(folder, settings.path) },
  };
}
