import { type ComponentChildren, isValidElement, type JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { t } from './format.js';
import { type Paged, usePages } from './hooks.js';
import { Empty, isZero, Money, Problem, Skeleton } from './ui.js';

export interface Column<T> {
  head: string;
  cell: (row: T) => ComponentChildren;
  /** Numbers and amounts are aligned to the right. */
  isNumber?: boolean;
  /** Buttons: on a phone they have the whole width. */
  isActions?: boolean;
  /** Whether it is one of the two facts that come first where a row is a card, on a phone. */
  isLead?: boolean;
}

interface TableProps<T> {
  caption: string;
  columns: Column<T>[];
  rows: T[];
  foot?: T | undefined;
}

/** Whether a cell says nothing: a card on a phone is shorter without it. */
const isBlank = (shown: ComponentChildren): boolean =>
  isValidElement(shown) && shown.type === Money
    ? isZero((shown.props as unknown as { of: string }).of)
    : (shown ?? '–') === '–';

const classOf = ({ isNumber, isLead, isActions }: Column<never>, shown: ComponentChildren): string =>
  [isNumber && 'number', isLead && 'lead', isActions && 'actions', isBlank(shown) && 'blank'].filter(Boolean).join(' ');

/** Columns without those that say nothing in any row; but what a row is about stays. */
const withoutBlank = <T,>(columns: Column<T>[], rows: T[]): Column<T>[] =>
  columns.filter((column) => column.isLead || rows.some((row) => !isBlank(column.cell(row))));

/** A table that scrolls by itself if it is wide. A continued one has its heads for screen readers only. */
function Rows<T>(props: TableProps<T> & { isContinued?: boolean }): JSX.Element {
  const { caption, columns, rows, foot, isContinued } = props;
  // On a phone a row is no row for the browser any more, but for readers it is.
  const cells = (row: T): JSX.Element[] =>
    columns.map((column) => {
      const shown = column.cell(row);
      return (
        <td key={column.head} role="cell" data-head={column.head} class={classOf(column, shown)}>
          <div>{shown}</div>
        </td>
      );
    });
  return (
    <div class="scrolls" role="group" aria-label={caption} tabIndex={0}>
      <table role="table" class={columns.every(({ isLead }) => isLead) ? 'plain' : undefined}>
        <thead class={isContinued ? 'hidden' : undefined} role="rowgroup">
          <tr role="row">
            {columns.map(({ head, isNumber, isActions }) => (
              <th key={head} role="columnheader" scope="col" class={isNumber ? 'number' : undefined}>
                <span class={isActions ? 'hidden' : undefined}>{head}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row, index) => (
            <tr key={index} role="row">
              {cells(row)}
            </tr>
          ))}
        </tbody>
        {foot && (
          <tfoot role="rowgroup">
            <tr role="row">{cells(foot)}</tr>
          </tfoot>
        )}
      </table>
    </div>
  );
}

/** @param props `empty` says why there is no row, and what to do */
export function Table<T>(props: TableProps<T> & { empty?: ComponentChildren }): JSX.Element {
  const { rows, foot, columns, empty } = props;
  if (rows.length === 0) return <Empty>{empty ?? t.nothing}</Empty>;
  return <Rows {...props} columns={withoutBlank(columns, foot ? [...rows, foot] : rows)} />;
}

// A page that was drawn is not drawn again when the next one comes, and not laid out while it is out of sight.
function Chunk<T>(props: Parameters<typeof Rows<T>>[0]): JSX.Element {
  return useMemo(() => <Rows {...props} />, [props.rows, props.columns.length]);
}

/** A list of the API. More is loaded at its end, when that is in sight or by the button. */
export function PagedTable<T>(props: {
  caption: string;
  columns: Column<T>[];
  list: (signal: AbortSignal) => Paged<T>;
  on: unknown[];
  empty?: ComponentChildren;
}): JSX.Element {
  const { pages, isComplete, isLoading, error, more } = usePages(props.list, props.on);
  const shown = pages.filter((rows) => rows.length > 0);
  const columns = withoutBlank(props.columns, shown.flat());
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const watcher = new IntersectionObserver(([entry]) => entry?.isIntersecting && more(), { rootMargin: '300px' });
    if (pages.length > 0 && !isComplete && !isLoading && error === undefined) watcher.observe(end.current!);
    return () => watcher.disconnect();
  });
  return (
    <div>
      {shown.map((rows, index) => (
        <div class={rows.length < 50 ? 'chunk' : 'chunk far'} key={index}>
          <Chunk caption={`${props.caption} ${index + 1}`} columns={columns} rows={rows} isContinued={index > 0} />
        </div>
      ))}
      {isComplete && shown.length === 0 && <Empty>{props.empty ?? t.nothing}</Empty>}
      {isLoading && <Skeleton lines={pages.length === 0 ? 4 : 1} />}
      {error !== undefined && <Problem error={error} retry={more} />}
      <div ref={end}>{!isComplete && !isLoading && <button onClick={more}>{t.action.more}</button>}</div>
    </div>
  );
}
