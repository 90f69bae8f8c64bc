import Foundation

/// The files of the page, which are part of the program.
struct StudioPage: Sendable {
    private static let types = [
        "css": "text/css; charset=utf-8", "html": "text/html; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
    ]

    private static let files: [String: [UInt8]] = [
        "index.html": PackageResources.index_html, "style.css": PackageResources.style_css,
        "favicon.svg": PackageResources.favicon_svg, "app.js": PackageResources.app_js,
        "dom.js": PackageResources.dom_js, "api.js": PackageResources.api_js,
        "values.js": PackageResources.values_js, "overview.js": PackageResources.overview_js,
        "records.js": PackageResources.records_js, "record.js": PackageResources.record_js,
        "log.js": PackageResources.log_js, "outbox.js": PackageResources.outbox_js,
        "edit.js": PackageResources.edit_js,
        "conflicts.js": PackageResources.conflicts_js, "sync.js": PackageResources.sync_js,
        "queries.js": PackageResources.queries_js, "health.js": PackageResources.health_js,
        "hub.js": PackageResources.hub_js,
    ]

    /// A folder whose files are served instead, for work on the page; nil for those of the program.
    let folder: String?

    /// A file and its type; nil if there is none of the name.
    func file(_ name: String) -> (bytes: [UInt8], type: String)? {
        let name = name == "favicon.ico" ? "favicon.svg" : name
        // Only names of the list: nothing leads out of the folder.
        guard let bytes = Self.files[name],
            let type = Self.types[String(name.split(separator: ".").last ?? "")]
        else { return nil }
        guard let folder else { return (bytes, type) }
        return FileManager.default.contents(atPath: folder + "/" + name).map { (Array($0), type) }
    }
}
