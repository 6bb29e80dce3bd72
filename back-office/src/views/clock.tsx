import type { ClockMove } from '@cashback/client';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { now, setClock, useClock } from '../clock.js';
import { count, dayFromToday, clockTime, instantOf, t } from '../format.js';
import type { Values } from '../hooks.js';
import { cashback, refreshClock, type Session } from '../session.js';
import { Action, Either, Field } from '../form.js';

/** The clock of a sandbox, and a dialog that moves it. */
export function Clock({ session, hidden }: { session: Session; hidden: boolean }): JSX.Element | null {
  const clock = useClock();
  const time = useTime();
  const { move, reached, opened, values } = useMove(session);
  if (clock === null) return null;
  const { frozen, moving } = clock;
  return (
    <section class="sandbox" aria-label={t.clock.sandbox} hidden={hidden}>
      <p class="bar">
        <strong>{t.clock.sandbox}</strong>
        <time>{time}</time>
        <span class="only-wide">
          {moving || reached ? t.clock.moving : frozen ? t.clock.standing : t.clock.running}
        </span>
        <Action label={moving ? t.clock.continue : t.clock.move} work={move}>
          <p class="soft">{t.clock.at(reached ? clockTime(reached) : time)}</p>
          {!frozen && <p class="warning">{t.clock.first}</p>}
          {moving && <p>{t.clock.unfinished}</p>}
          <Target opened={opened} values={moving || reached ? values.current : {}} />
          <p role="status">
            {reached && (
              <>
                {t.clock.wait} <progress aria-label={t.clock.moving} />
              </>
            )}
          </p>
        </Action>
      </p>
    </section>
  );
}

/** @returns the merchant's time, which goes on if the clock runs */
function useTime(): string {
  const [, show] = useState('');
  useEffect(() => {
    const timer = setInterval(() => show(clockTime(now())), 1000);
    return () => clearInterval(timer);
  }, []);
  return clockTime(now());
}

/** Stands for the dialog that is open. */
interface Opened {
  current: object | null;
}

interface Move {
  /** Moves the clock until it is there, the dialog is closed, or a request fails. */
  move: (values: Values) => Promise<ComponentChildren>;
  /** Where a move of this page is; null if there is none. */
  reached: string | null;
  opened: Opened;
  /** What was typed for the last move. */
  values: { current: Values };
}

function useMove(session: Session): Move {
  const [reached, setReached] = useState<string | null>(null);
  const opened = useRef<object | null>(null);
  const values = useRef<Values>({});
  const move = async (typed: Values): Promise<ComponentChildren> => {
    values.current = typed;
    const dialog = opened.current;
    const target = typed.on === undefined ? { now: instantOf(typed.now ?? '') } : { on: typed.on };
    setReached(now().toISOString());
    try {
      for (;;) {
        const moved = await cashback.sandbox.moveClock(target);
        setReached(moved.now);
        if (!moved.done && dialog === opened.current) continue;
        setClock({ now: moved.now, frozen: true, moving: !moved.done });
        return <Result move={moved} session={session} />;
      }
    } catch (error) {
      await refreshClock().catch(() => undefined);
      throw error;
    } finally {
      setReached(null);
    }
  };
  return { move, reached, opened, values };
}

/** Where to move the clock: to a day, or to an instant. */
function Target({ opened, values }: { opened: Opened; values: Values }): JSX.Element {
  const [isDay, setDay] = useState(values.now === undefined);
  const [chosen, choose] = useState({ day: values.on, times: 0 });
  useEffect(() => {
    const dialog = {};
    opened.current = dialog;
    void refreshClock().catch(() => undefined);
    return () => {
      if (opened.current === dialog) opened.current = null;
    };
  }, []);
  const chooseDay = (days: number): void => {
    setDay(true);
    choose({ day: dayFromToday(days), times: chosen.times + 1 });
  };
  return (
    <>
      <Either
        legend={t.clock.where}
        options={[
          ['day', t.clock.toDay],
          ['instant', t.clock.toInstant],
        ]}
        chosen={isDay ? 'day' : 'instant'}
        choose={(where) => setDay(where === 'day')}
      />
      <p class="buttons" role="group" aria-label={t.clock.quick}>
        {[1, 7, 30].map((days) => (
          <button key={days} type="button" onClick={() => chooseDay(days)}>
            {t.clock.inDays(days)}
          </button>
        ))}
      </p>
      {isDay ? (
        <Field key={chosen.times} name="on" label={t.field.day} type="date" value={chosen.day} hint={t.clock.dayHint} />
      ) : (
        <Field name="now" label={t.clock.instant} type="datetime-local" value={values.now} />
      )}
    </>
  );
}

/** What a move caused, with a link for those who may see it. */
function Result({ move, session }: { move: ClockMove; session: Session }): JSX.Element {
  const { first_sequence: first, last_sequence: last } = move;
  const events = first === null || last === null ? 0 : last - first + 1;
  return (
    <p role="status">
      {t.clock.at(clockTime(move.now))} {t.clock.caused(count(events))}{' '}
      {events > 0 && session.can('events') && (
        <a
          href={`#/webhooks/${first}/${last}`}
          onClick={({ currentTarget }) => currentTarget.closest('dialog')?.close()}
        >
          {t.clock.events}
        </a>
      )}
    </p>
  );
}
