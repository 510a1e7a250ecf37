interface FakeAnnotation {
  id: number;
  completed_by: number | null;
  was_cancelled: boolean;
  created_at: string;
  updated_at: string;
  lead_time: number | null;
  result: unknown[];
}

interface FakeTask {
  id: number;
  project: number;
  updated_at: string;
  annotations: FakeAnnotation[];
}

interface Filters {
  filters: { items: { filter: string; value: string | number }[] };
}

/** Projects, their tasks, and what was made of them. */
export function createFakeWork(now: () => Date = () => new Date()) {
  const tasks = new Map<number, FakeTask>();
  const projects = new Map<number, string>();
  const instructions = new Map<number, object>();
  let lastId = 0;
  const stamp = () => now().toISOString();

  function holderOf(annotationId: number): FakeTask | undefined {
    return [...tasks.values()].find(({ annotations }) => annotations.some(({ id }) => id === annotationId));
  }

  return {
    projects: () => [...projects].map(([id, title]) => ({ id, title })),

    showProject(id: number) {
      const title = projects.get(id);
      const none = { expert_instruction: '', show_instruction: false };
      return title === undefined ? undefined : { id, title, ...none, ...instructions.get(id) };
    },

    changeProject(id: number, changes: unknown) {
      instructions.set(id, { ...instructions.get(id), ...(changes as object) });
      return this.showProject(id);
    },

    addProject(title: string): { id: number } {
      const id = ++lastId;
      projects.set(id, title);
      return { id };
    },

    /** Its tasks, and all that was done on them, go with it. */
    deleteProject(project: number): boolean {
      for (const task of tasks.values()) if (task.project === project) tasks.delete(task.id);
      return projects.delete(project);
    },

    import(project: number, data: unknown[]): { task_count: number } {
      for (const _ of data) {
        const id = ++lastId;
        tasks.set(id, { id, project, updated_at: stamp(), annotations: [] });
      }
      return { task_count: data.length };
    },

    annotate(task: number, by: number, body: unknown): FakeAnnotation | undefined {
      const id = ++lastId;
      const given = body as Partial<FakeAnnotation>;
      const { lead_time = null, result = [], was_cancelled = false } = given;
      const [at, holder] = [stamp(), tasks.get(task)];
      const made = { id, completed_by: by, was_cancelled, lead_time, result };
      const annotation = { ...made, created_at: at, updated_at: at };
      holder?.annotations.push(annotation);
      if (holder) holder.updated_at = stamp();
      return holder && annotation;
    },

    edit(id: number, body: unknown): FakeAnnotation | undefined {
      const holder = holderOf(id);
      const annotation = holder?.annotations.find((one) => one.id === id);
      if (holder === undefined || annotation === undefined) return undefined;
      Object.assign(annotation, body, { updated_at: stamp() });
      holder.updated_at = stamp();
      return annotation;
    },

    deleteAnnotation(id: number): boolean {
      const holder = holderOf(id);
      if (holder === undefined) return false;
      holder.annotations = holder.annotations.filter((one) => one.id !== id);
      holder.updated_at = stamp();
      return true;
    },

    /** What the owner does to whole tasks at once; null for what it does not know. */
    act(action: string, ids: readonly number[]): { processed_items: number } | null {
      if (action !== 'delete_tasks' && action !== 'delete_tasks_annotations') return null;
      for (const id of ids) {
        const task = tasks.get(id);
        if (action === 'delete_tasks') tasks.delete(id);
        else if (task !== undefined) Object.assign(task, { annotations: [], updated_at: stamp() });
      }
      return { processed_items: ids.length };
    },

    deleteTask: (id: number) => tasks.delete(id),

    /** `completed_by` is set to null where a user is deleted, and nothing is stamped. */
    forget(user: number): void {
      for (const { annotations } of tasks.values()) {
        for (const one of annotations) if (one.completed_by === user) one.completed_by = null;
      }
    },

    /** Null for a project that is not there, undefined for a page past the end. */
    page(query: URLSearchParams) {
      const project = Number(query.get('project'));
      if (!projects.has(project)) return null;
      const asked = JSON.parse(query.get('query') ?? '{"filters":{"items":[]}}') as Filters;
      const wanted = (name: string) =>
        asked.filters.items.find(({ filter }) => filter === `filter:tasks:${name}`)?.value;
      const [after, since] = [Number(wanted('id') ?? 0), String(wanted('updated_at') ?? '')];
      const found = [...tasks.values()].filter(
        (task) => task.project === project && task.id > after && task.updated_at >= since,
      );
      const [page, size] = [Number(query.get('page') ?? 1), Number(query.get('page_size') ?? 100)];
      if (page > 1 && (page - 1) * size >= found.length) return undefined;
      return { total: found.length, tasks: found.slice((page - 1) * size, page * size) };
    },
  };
}

export type FakeWork = ReturnType<typeof createFakeWork>;
