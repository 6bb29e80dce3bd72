import { readFileSync } from 'node:fs';

interface Operations {
  get?: { responses: Record<string, { content?: Record<string, unknown> }> };
}

/** The paths of the OpenAPI document that can be read as CSV: the reports, and the lists. */
export function csvFiles(): { reports: string[]; lists: string[] } {
  const { paths } = JSON.parse(readFileSync('dist/openapi.json', 'utf8')) as { paths: Record<string, Operations> };
  const files = Object.keys(paths).filter((path) => paths[path]!.get?.responses['200']?.content?.['text/csv']);
  const isReport = (path: string): boolean => path.startsWith('/reports/');
  return { reports: files.filter(isReport), lists: files.filter((path) => !isReport(path)) };
}
