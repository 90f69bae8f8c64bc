import Foundation
import WireCrypto

/// The HTML of the sign-in page.
///
/// Its only text from a request is the name that a trusted proxy tells, which is escaped.
struct SignInDocument: Sendable {
    private enum Part {
        case html(String)
        case text(String)
    }

    let status: Int
    private let parts: [Part]
    /// Where its forms may lead: the origin of a callback, beside the hub's own.
    private let callback: String?

    private init(_ status: Int, _ parts: [Part], callback: String? = nil) {
        (self.status, self.parts, self.callback) = (status, parts, callback)
    }

    /// The forms.
    ///
    /// - Parameters:
    ///   - person: The user whom a proxy has signed in, who only has to confirm it; nil if there is none.
    ///   - problem: The reason why the last try failed, in the hub's own words; nil at the first try.
    static func forms(
        person: String?, problem: String? = nil, status: Int = 200, callback: String?
    ) -> SignInDocument {
        var parts: [Part] = [.html("<h1>Sign in</h1>")]
        if let problem {
            parts += [.html("<p role=\"alert\">"), .text(problem), .html("</p>")]
        }
        if let person {
            parts += [
                .html("<form method=\"post\"><input type=\"hidden\" name=\"by\" value=\"proxy\">"),
                .html("<button>Go on as "), .text(person), .html("</button></form>"),
            ]
        } else {
            parts.append(.html(Self.fields))
        }
        return SignInDocument(status, parts, callback: callback)
    }

    private static let fields = """
        <form method="post"><input type="hidden" name="by" value="password">
        <label>Name <input name="name" autocomplete="username" required maxlength="255"></label>
        <label>Password <input name="password" type="password" autocomplete="current-password"
        required maxlength="1024"></label>
        <button>Sign in</button></form>
        <form method="post"><input type="hidden" name="by" value="code">
        <label>Or a code that you were given <input name="code" autocomplete="one-time-code"
        required maxlength="64"></label>
        <button>Sign in with the code</button></form>
        """

    /// A message and nothing to fill in.
    static func message(_ status: Int, _ text: String) -> SignInDocument {
        SignInDocument(
            status, [.html("<h1>Sign in</h1><p role=\"alert\">"), .text(text), .html("</p>")])
    }

    /// The page that hands a token to the page that opened it, if that one has one of the origins.
    static func handover(_ token: String, to origins: [String]) -> SignInDocument {
        SignInDocument(
            200,
            [
                .html("<h1>Signed in</h1><p id=\"handover\" data-token=\""), .text(token),
                .html("\" data-origins=\""), .text(origins.joined(separator: " ")),
                .html("\">This window can be closed.</p><script>\(script)</script>"),
            ])
    }

    /// `ckWebAuthToken` is what CloudKit JS waits for, `ckSession` what its first version did.
    private static let script = """
        var d = document.getElementById("handover").dataset, o = window.opener;
        if (o) {
          d.origins.split(" ").forEach(function (origin) {
            o.postMessage({ckWebAuthToken: d.token, ckSession: d.token}, origin);
          });
          window.close();
        }
        """

    private static let style = """
        body { font: 16px sans-serif; max-width: 22em; margin: 3em auto; padding: 0 1em; }
        label, input, button { display: block; width: 100%; box-sizing: border-box; margin: .4em 0; }
        form { margin-bottom: 2em; }
        """

    private static func source(_ text: String) -> String {
        "'sha256-\(Data(Digest.sha256(text)).base64EncodedString())'"
    }

    private static let (scriptSource, styleSource) = (source(script), source(style))

    /// The content security policy: only this script runs, no page frames this one, and forms are sent
    /// to the hub.
    private var policy: String {
        "default-src 'none'; script-src \(Self.scriptSource); style-src \(Self.styleSource); "
            + "form-action 'self'\(callback.map { " \($0)" } ?? ""); frame-ancestors 'none'; "
            + "base-uri 'none'"
    }

    /// The page.
    var response: HubResponse {
        var html =
            "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\">"
            + "<meta name=\"viewport\" content=\"width=device-width\"><title>Sign in</title>"
            + "<style>\(Self.style)</style>"
        for part in parts {
            switch part {
            case .html(let text): html += text
            case .text(let text): html += Self.escaped(text)
            }
        }
        return HubResponse(
            status: status,
            headers: [
                HubRequest.Header("Content-Type", "text/html; charset=UTF-8"),
                HubRequest.Header("Content-Security-Policy", policy),
                HubRequest.Header("X-Frame-Options", "DENY"),
                // Another policy than this one takes the origin from the forms too.
                HubRequest.Header("Referrer-Policy", "same-origin"),
                HubRequest.Header("Cross-Origin-Resource-Policy", "same-origin"),
            ], body: .bytes(Array(html.utf8)))
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { html, character in
            switch character {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            case "\"": html += "&quot;"
            default: html.append(character)
            }
        }
    }
}
