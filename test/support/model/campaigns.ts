import { anId } from './expected.js';
import { type Rules, rulesView } from './rules.js';
import { addDays, instant, MINUTE, startOfDay } from './values.js';
import type { By } from './wallet.js';

/** What a campaign is to be. */
export interface CampaignContent {
  name: string;
  from: string;
  through: string;
  changes: Partial<Rules>;
}

/** "409 later, and within the last five seconds": then a campaign counts as one that has begun. */
const SOON = 5000;

/** What a campaign holds from an instant on: a change of one that has begun makes another one. */
class Version {
  /** "begins at the midnight of its first day or, if that is later, a minute after it was stored" */
  readonly beginsAt: number;
  endedAt = Infinity;
  readonly #days: number;

  constructor(
    readonly content: Omit<CampaignContent, 'name'>,
    readonly storedAt: number,
    readonly by: By,
    timeZone: string,
  ) {
    this.beginsAt = Math.max(startOfDay(content.from, timeZone), storedAt + MINUTE);
    this.#days = startOfDay(addDays(content.through, 1), timeZone);
  }

  get endsAt(): number {
    return Math.min(this.endedAt, this.#days);
  }
}

export class Campaign {
  id = '';
  name: string;
  endedBy: By = null;
  versions: Version[];

  constructor(
    content: CampaignContent,
    readonly createdAt: number,
    readonly createdBy: By,
    private readonly timeZone: string,
  ) {
    this.name = content.name;
    this.versions = [this.#version(content, createdAt, createdBy)];
  }

  get latest(): Version {
    return this.versions.at(-1)!;
  }

  get content(): CampaignContent {
    return { ...this.latest.content, name: this.name };
  }

  isOver(now: number): boolean {
    return this.latest.endsAt <= now;
  }

  isOpen(now: number): boolean {
    return !this.isOver(now) && this.endedBy === null;
  }

  hasBegun(now: number): boolean {
    return this.versions[0]!.beginsAt <= now + SOON;
  }

  /** What holds of it at an instant. */
  at(instant: number): Version | undefined {
    return this.versions.find(({ beginsAt, endsAt }) => beginsAt <= instant && instant < endsAt);
  }

  /** "replaces its content. One that has begun … changes in a minute". A name counts at once. */
  change(content: CampaignContent, now: number, by: By): void {
    const isRenamed = this.isSame({ ...content, name: this.name });
    this.name = content.name;
    if (isRenamed) return;
    this.#leave(now);
    this.versions.push(this.#version(content, now, by));
  }

  /** "ends one that runs, in a minute" */
  end(now: number, by: By): void {
    this.#leave(now);
    this.endedBy = by;
  }

  isSame({ name, from, through, changes }: CampaignContent): boolean {
    const own = this.content;
    const isNamed = name === own.name && from === own.from && through === own.through;
    return isNamed && textOf(changes) === textOf(own.changes);
  }

  /** What holds now does so for a minute; what was to follow never does. */
  #leave(now: number): void {
    if (this.latest.beginsAt > now + SOON) this.versions.pop();
    if (this.versions.length > 0) this.latest.endedAt = now + MINUTE;
  }

  #version({ name: _name, ...content }: CampaignContent, now: number, by: By): Version {
    return new Version(content, now, by, this.timeZone);
  }

  /** As `GET /policy` names the one that holds. */
  daysView({ from, through } = this.latest.content): object {
    return { id: this.id || anId, name: this.name, from, through };
  }

  /** What is announced. */
  upcomingView(): object {
    const begins_at = instant(this.versions[0]!.beginsAt);
    return { ...this.daysView(), begins_at, rules: rulesView(this.latest.content.changes) };
  }

  view(now: number): object {
    const [first, latest] = [this.versions[0]!, this.latest];
    return {
      ...this.upcomingView(),
      status: this.isOver(now) ? 'over' : first.beginsAt <= now ? 'running' : 'upcoming',
      ...{ ends_at: instant(latest.endsAt), ended_by: this.endedBy },
      ...{ created_at: instant(this.createdAt), created_by: this.createdBy },
      ...{ changed_at: instant(latest.storedAt), changed_by: latest.by },
    };
  }
}

const textOf = (changes: Partial<Rules>): string =>
  JSON.stringify(Object.entries(changes).sort(), (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );

/** The rules of an instant, without a campaign and with it. */
export interface InForce {
  base: Rules;
  rules: Rules;
  campaign: Campaign | undefined;
}

export function inForceAt(campaigns: readonly Campaign[], base: Rules, at: number): InForce {
  // Of one that ends a minute after midnight and the next one, the earlier one holds.
  const holding = campaigns.filter((one) => one.at(at) !== undefined);
  const campaign = holding.sort((a, b) => (a.content.from < b.content.from ? -1 : 1))[0];
  return { base, campaign, rules: { ...base, ...campaign?.at(at)!.content.changes } };
}
