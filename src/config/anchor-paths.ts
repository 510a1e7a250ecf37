import path from 'node:path';
import type { Config, ToolConfig } from './config-schema.ts';

/** Makes the paths in a configuration absolute. Relative paths are relative to `folder`. */
export function anchorPaths(config: Config, folder: string): Config {
  const tools = [...config.tools].map(([name, tool]) => [name, anchorTool(tool, folder)] as const);
  const url = anchorDatabase(config.database.url, folder);
  return { ...config, database: { url }, tools: new Map(tools) };
}

function anchorDatabase(url: string, folder: string): string {
  const file = /^sqlite:(?!:memory:$)(.+)$/.exec(url)?.[1];
  return file === undefined ? url : `sqlite:${path.resolve(folder, file)}`;
}

/** An adapter in a file is named by its path. Every other name is resolved as a package. */
function anchorTool(tool: ToolConfig, folder: string): ToolConfig {
  const { adapter, settings } = tool;
  return {
    ...tool,
    adapter: /^\.{1,2}\//.test(adapter) ? path.resolve(folder, adapter) : adapter,
    settings: settings.path === undefined ? settings : { ...settings, path: path.resolve(folder, settings.path) },
  };
}
