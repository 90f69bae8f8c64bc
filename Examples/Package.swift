// swift-tools-version: 6.2
import PackageDescription

let backstitch: [Target.Dependency] = [
    .product(name: "Backstitch", package: "backstitch"),
    .product(name: "BackstitchViews", package: "backstitch"),
    .product(name: "BackstitchTesting", package: "backstitch"),
]

let package = Package(
    name: "examples",
    dependencies: [.package(name: "backstitch", path: "..")],
    targets: [
        .executableTarget(name: "inspections", dependencies: backstitch),
        .executableTarget(name: "reminders", dependencies: backstitch),
        .executableTarget(name: "languages", dependencies: backstitch),
    ]
)
