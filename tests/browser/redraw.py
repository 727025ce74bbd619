"""A stopwatch inside the browser: from the last input of a person to the last redrawn figure."""

from playwright.sync_api import Page

# A figure is drawn anew with new data, so the data of all figures are compared frame by frame.
# The watch stops once the script has run, and nothing has changed for a while since. A script
# may start and end between two frames: its state is observed, too, not only looked at.
WATCH = """() => {
    const still = 300, longest = 60000;
    const app = document.querySelector('[data-testid=stApp]');
    const watch = window.hetcalWatch = {pressed: null, ran: false};
    const press = event => { watch.pressed = event.timeStamp; };
    for (const kind of ['pointerup', 'keydown']) addEventListener(kind, press, true);
    const figures = () => [...document.querySelectorAll('.js-plotly-plot')].map(each => each.data);
    const running = () => app.dataset.testScriptState !== 'notRunning';
    const observer = new MutationObserver(() => { watch.ran = true; });
    observer.observe(app, {attributeFilter: ['data-test-script-state']});
    let shown = figures(), latest = performance.now();
    const started = latest;
    watch.ended = new Promise((resolve, reject) => {
        const look = () => {
            const now = performance.now(), found = figures();
            const changed = found.length !== shown.length
                || found.some((data, i) => data !== shown[i]);
            const skeletons = document.querySelector('[data-testid=stSkeleton]') !== null;
            watch.ran ||= changed;
            if (changed || running() || skeletons || !watch.ran) latest = now;
            shown = found;
            if (now - started > longest) return reject(new Error('nothing was redrawn'));
            if (now - latest < still) return requestAnimationFrame(look);
            observer.disconnect();
            for (const kind of ['pointerup', 'keydown']) removeEventListener(kind, press, true);
            resolve((latest - watch.pressed) / 1000);
        };
        look();
    });
}"""


class Stopwatch:
    """Measures one click after the other."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def start(self) -> None:
        """Begin to watch; what the person does next is taken for the click."""
        self.page.evaluate(WATCH)

    def stop(self) -> float:
        """Wait for the figures and return the seconds since the last click or key."""
        return self.page.evaluate("() => window.hetcalWatch.ended")
