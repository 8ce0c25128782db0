/** The page's only style sheet; the content security policy allows it by its hash. */
export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --paper: #f6f5f1; --card: #fffefb; --ink: #1f2328; --soft: #5b626b; --line: #dedbd3;
  --well: #1c6b45; --well-soft: #e3f0e8; --attention: #7d5200; --attention-soft: #f9edd2; --ill: #a3231b; --ill-soft: #fae3e0;
  --bar: #8ea3b8; --bar-now: #2f5d8a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --card: #1b1f23; --ink: #e7e9ea; --soft: #9aa3ab; --line: #2e343a;
    --well: #7fcfa3; --well-soft: #173226; --attention: #e8bd68; --attention-soft: #36290f; --ill: #f39a92; --ill-soft: #3d1a18;
    --bar: #54677a; --bar-now: #8db7e0;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%; overflow-wrap: break-word;
}
main, header, footer { max-width: 58rem; margin: 0 auto; padding: 0 1.25rem; }
header { display: flex; flex-wrap: wrap; gap: .25rem .75rem; padding-top: 1.25rem; color: var(--soft); font-size: .875rem; }
header strong { color: var(--ink); font-weight: 600; }
.verdict { margin: 1rem 0 2rem; padding: 1.5rem; border-radius: .75rem; }
.verdict p { margin: 0; }
.verdict .say { display: flex; align-items: center; gap: .5rem; font-weight: 600; }
.verdict h1 { margin: .375rem 0 .625rem; font-size: clamp(1.375rem, 4.5vw, 2rem); line-height: 1.2; font-weight: 650; letter-spacing: -.01em; text-wrap: balance; }
.verdict .rest { color: var(--ink); max-width: 44rem; }
.verdict.starting { background: var(--card); } .starting .say { color: var(--soft); } .verdict svg [stroke] { stroke: var(--card); }
.verdict svg { width: 1.25rem; height: 1.25rem; flex: none; }
.well { background: var(--well-soft); } .well .say { color: var(--well); }
.attention { background: var(--attention-soft); } .attention .say { color: var(--attention); }
.ill { background: var(--ill-soft); } .ill .say { color: var(--ill); }
h2 { margin: 0; font-size: 1.0625rem; font-weight: 650; }
section, figure { margin: 0 0 2rem; }
section > h2 { margin-bottom: .625rem; }
.todo ul, .todo ol { margin: 0 0 1.25rem; padding-left: 1.25rem; }
.todo li { margin: .25rem 0; }
code { display: inline-block; padding: .0625rem .4375rem; border: 1px solid var(--line); border-radius: .3125rem; background: var(--card);
  font: .875em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.flows { margin: 0; padding: 0; list-style: none; border: 1px solid var(--line); border-radius: .75rem; background: var(--card); }
.flows li { display: grid; grid-template-columns: 17rem 7.5rem 1fr; gap: .125rem 1rem; align-items: baseline; padding: .6875rem 1.125rem; }
.flows li + li { border-top: 1px solid var(--line); }
.flows .name { font-weight: 600; } .flows .name span { margin-left: .375rem; color: var(--soft); font-weight: 400; font-size: .875rem; }
.state { display: inline-flex; align-items: center; gap: .4375rem; font-size: .9375rem; font-weight: 600; white-space: nowrap; }
.state::before { content: ""; width: .5625rem; height: .5625rem; border-radius: 50%; background: currentColor; flex: none; }
.state.fresh { color: var(--well); } .state.starting { color: var(--soft); }
.state.look, .state.failing { color: var(--attention); } .state.held, .state.stale, .state.late { color: var(--ill); }
.state.look::before, .state.failing::before { border-radius: 1px; transform: rotate(45deg); }
.state.held::before, .state.stale::before, .state.late::before { border-radius: 1px; }
.off { margin: .625rem 0 0; color: var(--soft); font-size: .875rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 0 1.5rem; }
figure { padding: 1rem 1.125rem; border: 1px solid var(--line); border-radius: .75rem; background: var(--card); min-width: 0;
  display: flex; flex-direction: column; }
figcaption { flex: 1; }
figcaption p { margin: .125rem 0 .875rem; color: var(--soft); font-size: .875rem; }
figure svg { display: block; width: 100%; height: 6rem; overflow: visible; }
rect.plain { fill: var(--bar); } rect.now { fill: var(--bar-now); } rect.bad { fill: var(--ill); }
.base { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.ends { display: flex; justify-content: space-between; margin: .375rem 0 .5rem; color: var(--soft); font-size: .8125rem; }
summary { color: var(--soft); font-size: .875rem; cursor: pointer; }
table { margin-top: .5rem; border-collapse: collapse; font-size: .875rem; }
th, td { padding: .125rem 1.5rem .125rem 0; text-align: left; font-weight: 400; } thead th { color: var(--soft); } td { text-align: right; }
.numbers dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 1rem 1.25rem; margin: 0; }
dt { color: var(--soft); font-size: .875rem; line-height: 1.3; } dd { margin: .125rem 0 0; font-size: 1.125rem; font-weight: 600; }
footer { padding-bottom: 2.5rem; color: var(--soft); font-size: .875rem; }
footer p { margin: 0 0 .25rem; } footer a { color: inherit; }
@media (max-width: 40rem) {
  main, header, footer { padding-left: 1rem; padding-right: 1rem; }
  .verdict { margin-bottom: 1.5rem; padding: 1.125rem; }
  .flows li { grid-template-columns: minmax(0, 1fr) auto; } .flows .told { grid-column: 1 / -1; }
  .flows .name span { display: block; margin: 0; line-height: 1.35; }
}
@media print { body { background: none; } details { display: none; } }
`;
