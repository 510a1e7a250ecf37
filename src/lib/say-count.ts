/** A number with what it counts: "1 day", "2 days". */
export function sayCount(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}
