/** Every adapter that is built in, by the name it has in `tools.<name>.adapter`. */
export const builtInAdapters: readonly string[] = ['cvat', 'doccano', 'http', 'label-studio', 'roster', 'scim'];
