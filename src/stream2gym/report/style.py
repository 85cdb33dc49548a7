"""The style sheet of the report: light and dark, from 320 px to paper."""

from __future__ import annotations

from stream2gym.figures.style import DARK, LIGHT, make_page_stylesheet, make_variables

_PAGE_LIGHT = {"page": "#f5f6f8", "good-soft": "#e3f3ea", "bad-soft": "#fdeceb", "warn-soft": "#fcf1dc"}
_PAGE_DARK = {"page": "#12171d", "good-soft": "#143226", "bad-soft": "#431c1a", "warn-soft": "#3a2d12"}

_RULES = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif}
main,header,footer{max-width:1128px;margin:0 auto;padding:0 24px}
header{padding-top:28px}h1{font-size:28px;line-height:1.2;margin:2px 0 4px;overflow-wrap:anywhere}
h2{font-size:20px;margin:0 0 12px;line-height:1.3}h3{font-size:15px;margin:0;line-height:1.35}
p{margin:0 0 10px;overflow-wrap:anywhere}small,.soft{color:var(--soft);font-size:13px}
a{color:var(--c1)}code,pre{font:13px/1.5 ui-monospace,"SF Mono",Menlo,"DejaVu Sans Mono",monospace}
pre{background:var(--well);padding:10px 12px;border-radius:6px;overflow-x:auto;margin:6px 0 12px;
white-space:pre-wrap;overflow-wrap:anywhere}
.brand{color:var(--soft);font-size:13px;letter-spacing:.02em}
nav{display:flex;flex-wrap:wrap;gap:4px 16px;margin:14px 0 22px;font-size:14px}
nav a{text-decoration:none;white-space:nowrap}nav a:hover{text-decoration:underline}
section{background:var(--card);border:1px solid var(--grid);border-radius:10px;padding:20px 22px;margin:0 0 18px}
.verdict{display:flex;gap:18px;align-items:center;border-radius:10px;padding:18px 22px;margin:16px 0 0;
border:1px solid;border-left-width:8px}
.verdict .icon{flex:none;font-size:34px;line-height:1;font-weight:700;width:42px;text-align:center}
.verdict strong{display:block;font-size:24px;line-height:1.15;letter-spacing:.01em}
.verdict p{margin:4px 0 0}
.pass{background:var(--good-soft);border-color:var(--good)}.pass strong,.pass .icon{color:var(--good)}
.fail{background:var(--bad-soft);border-color:var(--bad)}.fail strong,.fail .icon{color:var(--bad)}
.unknown{background:var(--warn-soft);border-color:var(--warn)}.unknown strong,.unknown .icon{color:var(--warn)}
.findings{padding:14px 22px 4px;margin:12px 0 0;font-size:17px;line-height:1.45;background:var(--card);
border:1px solid var(--grid);border-radius:10px}.findings p{margin:0 0 8px}
.findings a{color:inherit;font-weight:600;text-decoration:underline;text-decoration-color:var(--c1);
text-underline-offset:3px}
.loss{background:var(--bad);color:var(--on);border-radius:10px;padding:14px 22px;margin:12px 0 0}
.loss strong{font-size:19px;display:block;line-height:1.3}.loss p{margin:4px 0 0}.loss a{color:inherit}
.caution{background:var(--warn-soft);border:1px solid var(--warn);border-radius:8px;padding:10px 14px;margin:12px 0}
.caution ul{margin:4px 0 0}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:10px;margin:0 0 14px}
.tiles:last-child{margin:0}
.tile{background:var(--well);border-radius:8px;padding:10px 12px;border-left:4px solid transparent;min-width:0}
.tile dt{color:var(--soft);font-size:13px}.tile dd{margin:0;font-size:21px;font-weight:600;line-height:1.25;
font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.tile small{display:block;font-weight:400;font-size:12.5px;line-height:1.35;margin-top:2px}
.tile.bad{border-color:var(--bad);background:var(--bad-soft)}.tile.bad dd{color:var(--bad)}
.tile.good{border-color:var(--good)}.tile.warn{border-color:var(--warn);background:var(--warn-soft)}
.pairs{display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:2px 28px;margin:0 0 12px}
.pairs div{display:flex;gap:10px;justify-content:space-between;border-bottom:1px solid var(--grid);padding:4px 0}
.pairs dt{color:var(--soft);flex:none}.pairs dd{margin:0;text-align:right;overflow-wrap:anywhere;min-width:0}
.figures{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:26px 40px;margin:0 0 14px}
figure{margin:0;min-width:0;break-inside:avoid}figure.wide{grid-column:1/-1}
figure svg{display:block;width:100%;height:auto;overflow:visible}
figure .soft{margin:6px 0 0}
.at340{display:none}.wide .at520{display:none}
.bar{display:flex;justify-content:space-between;align-items:baseline;gap:12px;margin:0 0 8px}
.csv{font-size:12px;color:var(--soft);flex:none}
.under{margin:6px 0 0}.table{margin:4px 0 20px}.table:last-child{margin-bottom:0}
.scroll{overflow-x:auto;border:1px solid var(--grid);border-radius:8px}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th,td{padding:6px 10px;text-align:left;vertical-align:top;border-bottom:1px solid var(--grid)}
tbody tr:last-child td{border-bottom:0}
th{color:var(--soft);font-weight:600;font-size:12.5px;background:var(--well);vertical-align:bottom}
th:first-child,td:first-child{position:sticky;left:0;background:var(--card);min-width:112px;max-width:220px;
overflow-wrap:anywhere}
th:first-child{background:var(--well);overflow-wrap:normal}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}.zero{color:var(--soft)}
th.n{white-space:normal}.t{white-space:nowrap}td.long{min-width:10em;overflow-wrap:anywhere}td.t:first-child{white-space:normal}
td.alarm{color:var(--bad);font-weight:700;background:var(--bad-soft)}tr.alarm td{background:var(--bad-soft)}
tr.alarm td:first-child{box-shadow:inset 4px 0 var(--bad)}
details{margin:8px 0}summary{cursor:pointer;color:var(--c1);font-size:14px}details>*:not(summary){margin-top:8px}
.missing{color:var(--soft);font-style:italic;margin:0 0 6px}
.checks{list-style:none;margin:0;padding:0}
.checks>li{display:grid;grid-template-columns:104px minmax(0,1fr);gap:4px 12px;padding:10px 0;
border-top:1px solid var(--grid)}.checks>li:first-child{border-top:0;padding-top:0}
.badge{display:inline-block;font-size:13px;font-weight:700;border-radius:5px;padding:1px 8px;border:1px solid;
justify-self:start;align-self:start;white-space:nowrap}
.badge.pass{color:var(--good)}.badge.fail{color:var(--bad)}.badge.unknown{color:var(--warn)}
.checks code{font-size:14px;font-weight:600;overflow-wrap:anywhere}.checks p{margin:2px 0 0}
.evidence{margin:4px 0 0;padding-left:18px;font-size:13px}.evidence li{overflow-wrap:anywhere}
.drawing{overflow-x:auto;margin:0 0 12px}.drawing svg{display:block;max-width:100%;height:auto;margin:0 auto}
.drawing [fill="#ffffff"]:not(text){fill:var(--card)}.drawing [fill="#1d2733"]{fill:var(--ink)}
.drawing [fill="#68727d"]{fill:var(--soft)}.drawing [stroke="#1d2733"]{stroke:var(--ink)}
footer{color:var(--soft);font-size:13px;padding-bottom:40px}
:focus-visible{outline:2px solid var(--c1);outline-offset:2px}
@media (max-width:1000px){.figures{grid-template-columns:minmax(0,1fr)}
.wide .at520{display:block}.at1040{display:none}}
@media (max-width:560px){.at340,.wide .at340{display:block}.at520,.wide .at520{display:none}
main,header,footer{padding-left:12px;padding-right:12px}section{padding:16px 14px}
h1{font-size:23px}.verdict{padding:14px;gap:12px}.loss{padding:14px}
.tiles{grid-template-columns:repeat(2,minmax(0,1fr))}.pairs{grid-template-columns:minmax(0,1fr)}
.checks>li{grid-template-columns:minmax(0,1fr)}.tile dd{font-size:18px}
th,td{padding:5px 8px}th:first-child,td:first-child{max-width:130px}
.drawing.big svg{max-width:none}}
@media print{@page{margin:14mm}:root{$light}
body{background:#fff;font-size:10.5pt;-webkit-print-color-adjust:exact;print-color-adjust:exact}
main,header,footer{padding:0;max-width:none}nav,.csv{display:none}
section{border:0;padding:0;margin:0 0 22px}h2,h3,.bar,section>.soft,.table>.soft{break-after:avoid}
.verdict,.findings,.loss,.tile,tr,.checks>li{break-inside:avoid}
.figures{grid-template-columns:repeat(2,minmax(0,1fr));gap:18px 20px}
.at520,.at1040,.wide .at340{display:none}.at340,.wide .at520{display:block}header{padding-bottom:16px}
tr.alarm td:first-child{box-shadow:none}
.scroll{overflow:visible;border:0}table{font-size:8.5pt}th,td{padding:3px 5px}
th:first-child,td:first-child{position:static}}
"""


def make_report_stylesheet() -> str:
    light, dark = make_variables(LIGHT | _PAGE_LIGHT), make_variables(DARK | _PAGE_DARK)
    screen = f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return (
        f":root{{color-scheme:light dark;{light}}}\n{screen}{_RULES.replace('$light', light)}{make_page_stylesheet()}"
    )
