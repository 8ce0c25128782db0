import type { CampaignSizes } from "./mirror-campaign.ts";

/** What a campaign has done while things broke: one in which nothing was under way proves nothing. */
export interface CampaignWork {
  /** Kills that met a bridge whose mirror had written. */
  killsAtWork: number;
  /** Connections that were really cut. */
  cutConnections: number;
  cutCommits: number;
  /** Of the bridge's transactions, answered or not. */
  bridgeCommits: number;
  /** Of the ERP's, and those that it took back. */
  erpCommits: number;
  erpRollbacks: number;
  /** Orders that PostgreSQL had when the last fault was over. */
  ordersDown: number;
  /** Orders that the ERP marked. */
  marked: number;
  /** Statuses that it asked for. */
  requests: number;
  /** Rows of stock and prices that the shop had when the last fault was over. */
  rowsUp: number;
  /** Statuses that had taken effect at the service by then. */
  effects: number;
}

/** Of a hundred faults; `rowsUp` is bounded by the articles that there are. */
const OF_FAULTS: Partial<Record<keyof CampaignWork, number>> = {
  bridgeCommits: 50,
  erpCommits: 100,
  erpRollbacks: 10,
  ordersDown: 50,
  marked: 30,
  requests: 30,
  effects: 10,
};
const KILLS_AT_WORK = 0.5;
const CUTS = 0.5;
const CUT_COMMITS = 0.2;
const ROWS_UP = 20;

/** What was too little for the campaign to mean something, in words. */
export function findLacking({ kills, crashes, cuts }: CampaignSizes, work: CampaignWork): string[] {
  const faults = kills + crashes + cuts;
  const least: Partial<Record<keyof CampaignWork, number>> = {
    ...Object.fromEntries(Object.entries(OF_FAULTS).map(([name, of]) => [name, (faults * of) / 100])),
    killsAtWork: kills * KILLS_AT_WORK,
    cutConnections: cuts * CUTS,
    cutCommits: cuts * CUT_COMMITS,
    rowsUp: faults > 0 ? ROWS_UP : 0,
  };
  return (Object.entries(least) as [keyof CampaignWork, number][])
    .map(([name, wanted]) => ({ name, wanted: Math.floor(wanted) }))
    .filter(({ name, wanted }) => work[name] < wanted)
    .map(({ name, wanted }) => `${name}: ${work[name]}, and ${wanted} at least are needed`);
}
