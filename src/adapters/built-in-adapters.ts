/** The values of `tools.<name>.adapter` that need no file or package. */
export const builtInAdapters: readonly string[] = ['cvat', 'doccano', 'http', 'label-studio', 'roster', 'scim'];
